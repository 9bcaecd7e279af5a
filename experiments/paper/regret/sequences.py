"""Sequences within the bounds of the theorems, so small that the best fixed weights can be found exactly."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kernels.arrays import Floats

Matrix = NDArray[np.float64]
RADIUS: Final = 1.0  # X: every example has this sum of absolute values
NOISE: Final = 0.1  # share of labels that are flipped
LEFT_OUT: Final = 0.3  # share of examples that are too close to the plane to be kept


@dataclass(frozen=True, slots=True, eq=False)
class Rounds:
    """Examples (one per row) and labels; `separator` has no loss, where such weights exist."""

    examples: Matrix
    labels: Floats
    separator: Floats | None = None

    @property
    def signed(self) -> Matrix:
        """Return examples times labels: a loss depends on nothing else."""
        return self.examples * self.labels[:, None]

    def first(self, count: int) -> "Rounds":
        """Return the first rounds."""
        return Rounds(self.examples[:count], self.labels[:count], self.separator)


def noisy(count: int, dimensions: int, generator: np.random.Generator) -> Rounds:
    """Separate the classes by a plane, then flip some labels."""
    examples = _directions(count, dimensions, generator)
    labels = np.where(examples @ _plane(dimensions, generator) > 0.0, 1.0, -1.0)
    labels[generator.random(count) < NOISE] *= -1.0
    return Rounds(examples, labels)


def separable(count: int, dimensions: int, generator: np.random.Generator) -> Rounds:
    """Separate the classes by a plane with a margin."""
    plane = _plane(dimensions, generator)
    examples = _directions(2 * count, dimensions, generator)
    heights = np.abs(examples @ plane)
    margin = float(np.quantile(heights, LEFT_OUT))
    examples = examples[heights >= margin][:count]
    return Rounds(examples, np.where(examples @ plane > 0.0, 1.0, -1.0), plane / margin)


def coins(count: int, dimensions: int, generator: np.random.Generator) -> Rounds:
    """Present one feature after the other with random labels, the worst case for a learner.

    Each round costs any learner 1 or more on average; in hindsight the majority label of each feature costs less.
    """
    examples = np.zeros((count, dimensions))
    examples[np.arange(count), np.arange(count) % dimensions] = RADIUS
    return Rounds(examples, generator.choice([-1.0, 1.0], count))


def floor(count: int, dimensions: int) -> float:
    """Return the least mean regret of any learner on `coins`: about E |S| of each feature's sum S of signs."""
    return float(np.sqrt(2.0 * dimensions * count / np.pi))


KINDS: Final[dict[str, Callable[[int, int, Any], Rounds]]] = {"noisy": noisy, "separable": separable, "coins": coins}


def _directions(count: int, dimensions: int, generator: np.random.Generator) -> Matrix:
    drawn = generator.normal(size=(count, dimensions))
    drawn *= RADIUS / np.abs(drawn).sum(axis=1, keepdims=True)
    return drawn


def _plane(dimensions: int, generator: np.random.Generator) -> Floats:
    normal = generator.normal(size=dimensions)
    return np.asarray(normal / np.linalg.norm(normal))
