"""Sequences to play: small enough that the best fixed weights can be found exactly, and within the theorems' bounds."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kernels.arrays import Floats

Matrix = NDArray[np.float64]
RADIUS: Final = 1.0  # X: every example has this sum of absolute values
NOISE: Final = 0.1  # share of labels that are turned round
LEFT_OUT: Final = 0.3  # share of examples that are too close to the plane to be kept


@dataclass(frozen=True, slots=True, eq=False)
class Rounds:
    """Examples (a line each) and labels; `separator` are weights without any loss, where there are some."""

    examples: Matrix
    labels: Floats
    separator: Floats | None = None

    @property
    def signed(self) -> Matrix:
        """Examples times labels: a loss depends on nothing else."""
        return self.examples * self.labels[:, None]

    def first(self, count: int) -> "Rounds":
        """The beginning."""
        return Rounds(self.examples[:count], self.labels[:count], self.separator)


def noisy(count: int, dimensions: int, generator: np.random.Generator) -> Rounds:
    """A plane tells the classes apart, but some labels are wrong."""
    examples = _directions(count, dimensions, generator)
    labels = np.where(examples @ _plane(dimensions, generator) > 0.0, 1.0, -1.0)
    labels[generator.random(count) < NOISE] *= -1.0
    return Rounds(examples, labels)


def separable(count: int, dimensions: int, generator: np.random.Generator) -> Rounds:
    """A plane tells the classes apart, with a margin."""
    plane = _plane(dimensions, generator)
    examples = _directions(2 * count, dimensions, generator)
    heights = np.abs(examples @ plane)
    margin = float(np.quantile(heights, LEFT_OUT))
    examples = examples[heights >= margin][:count]
    return Rounds(examples, np.where(examples @ plane > 0.0, 1.0, -1.0), plane / margin)


def coins(count: int, dimensions: int, generator: np.random.Generator) -> Rounds:
    """One feature after the other, with labels that nobody can know: the worst that can be done to a learner.

    Whatever it does, each round costs it 1 or more on average; in hindsight the majority of each feature was better.
    """
    examples = np.zeros((count, dimensions))
    examples[np.arange(count), np.arange(count) % dimensions] = RADIUS
    return Rounds(examples, generator.choice([-1.0, 1.0], count))


def floor(count: int, dimensions: int) -> float:
    """The regret on `coins` that no learner gets below on average: E |S| of each feature's sum S of signs, about."""
    return float(np.sqrt(2.0 * dimensions * count / np.pi))


KINDS: Final[dict[str, Callable[[int, int, Any], Rounds]]] = {"noisy": noisy, "separable": separable, "coins": coins}


def _directions(count: int, dimensions: int, generator: np.random.Generator) -> Matrix:
    drawn = generator.normal(size=(count, dimensions))
    drawn *= RADIUS / np.abs(drawn).sum(axis=1, keepdims=True)
    return drawn


def _plane(dimensions: int, generator: np.random.Generator) -> Floats:
    normal = generator.normal(size=dimensions)
    return np.asarray(normal / np.linalg.norm(normal))
