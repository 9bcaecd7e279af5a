"""Sequences within the bounds of the theorems, and the paper's bounds on the regret. Letters are the paper's.

`norm` is |w|, `energy` is w' A_T w = |w|^2 + sum (w.x)^2 / r for the weights that are compared with. The bound on SSOL
holds for weights whose energy is D^2 at most; docs/reproduction.md says what follows from a D that grows.
"""

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
R: Final = 1.0
LAMBDA: Final = 0.1
FIRST_ORDER_TERM: Final = RADIUS**2 + 2.0 * LAMBDA * RADIUS


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
        return Rounds(self.examples[:count], self.labels[:count], self.separator)


def noisy(count: int, dimensions: int, generator: np.random.Generator) -> Rounds:
    examples = _directions(count, dimensions, generator)
    labels = np.where(examples @ _plane(dimensions, generator) > 0.0, 1.0, -1.0)
    labels[generator.random(count) < NOISE] *= -1.0
    return Rounds(examples, labels)


def separable(count: int, dimensions: int, generator: np.random.Generator) -> Rounds:
    plane = _plane(dimensions, generator)
    examples = _directions(2 * count, dimensions, generator)
    heights = np.abs(examples @ plane)
    margin = float(np.quantile(heights, LEFT_OUT))
    examples = examples[heights >= margin][:count]
    return Rounds(examples, np.where(examples @ plane > 0.0, 1.0, -1.0), plane / margin)


def coins(count: int, dimensions: int, generator: np.random.Generator) -> Rounds:
    """Give one feature after the other random labels: each round costs any learner 1 on average, hindsight less."""
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


@dataclass(frozen=True, slots=True)
class Compared:
    """What a bound depends on: the length of the sequence, and the weights of the comparison."""

    rounds: int
    dimensions: int
    norm: float
    energy: float


@dataclass(frozen=True, slots=True)
class Theorem:
    """A schedule of lambda, the bound that is proved for it, and the eta at which the bound is lowest."""

    schedule: str
    bound: Callable[[Compared, float], float]
    rate: Callable[[Compared], float]


def compared(examples: Matrix, weights: Floats) -> Compared:
    norm = float(np.linalg.norm(weights))
    energy = norm**2 + float(((examples @ weights) ** 2).sum()) / R
    rounds, dimensions = examples.shape
    return Compared(rounds, dimensions, norm, energy)


def _second_order_bound(to: Compared, eta: float) -> float:
    shrinking = LAMBDA * RADIUS * (float(np.log(to.rounds)) + 1.0)
    return to.energy / (2.0 * eta) + eta * _second_order_term(to) / 2.0 + shrinking


def _second_order_term(to: Compared) -> float:
    return R * to.dimensions * float(np.log1p(RADIUS**2 * to.rounds / R))


FIRST_ORDER: Final = Theorem(
    "eta",  # lambda_t = eta lambda
    lambda to, eta: to.norm**2 / (2.0 * eta) + eta * to.rounds * FIRST_ORDER_TERM / 2.0,
    lambda to: to.norm / float(np.sqrt(FIRST_ORDER_TERM * to.rounds)),
)
SECOND_ORDER: Final = Theorem(
    "inverse_t",  # lambda_t = lambda / t
    _second_order_bound,
    lambda to: float(np.sqrt(to.energy / _second_order_term(to))),
)
# The second is proved for the full matrix, not for the diagonal.
THEOREMS: Final = {"fsol": FIRST_ORDER, "ssol-full": SECOND_ORDER, "ssol": SECOND_ORDER}
