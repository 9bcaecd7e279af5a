"""The paper's bounds on the regret, and the rates at which they are lowest. Letters are the paper's.

`norm` is |w|, `energy` is w' A_T w = |w|^2 + sum (w.x)^2 / r for the weights that are compared with.

The bound on SSOL holds for weights whose energy is D^2 at most, and is O(log T) if D is kept while T grows. But the
energy of any fixed weights grows like T, so that the bound is O(T) at a fixed eta, and O(sqrt(T log T)) at the best
one. And weights within a fixed D are hardly better than none: sum y w.x <= sqrt(T sum (w.x)^2) <= D sqrt(r T), so
their loss is T - D sqrt(r T) or more, where no weights at all lose T.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from experiments.paper.regret.sequences import RADIUS, Matrix
from kernels.arrays import Floats

R: Final = 1.0
LAMBDA: Final = 0.1


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
    """Measure weights on the examples of the comparison."""
    norm = float(np.linalg.norm(weights))
    energy = norm**2 + float(((examples @ weights) ** 2).sum()) / R
    rounds, dimensions = examples.shape
    return Compared(rounds, dimensions, norm, energy)


def _first_order_bound(to: Compared, eta: float) -> float:
    return to.norm**2 / (2.0 * eta) + eta * to.rounds * _first_order_term() / 2.0


def _first_order_rate(to: Compared) -> float:
    return to.norm / float(np.sqrt(_first_order_term() * to.rounds))


def _first_order_term() -> float:
    return RADIUS**2 + 2.0 * LAMBDA * RADIUS


def _second_order_bound(to: Compared, eta: float) -> float:
    shrinking = LAMBDA * RADIUS * (float(np.log(to.rounds)) + 1.0)
    return to.energy / (2.0 * eta) + eta * _second_order_term(to) / 2.0 + shrinking


def _second_order_rate(to: Compared) -> float:
    return float(np.sqrt(to.energy / _second_order_term(to)))


def _second_order_term(to: Compared) -> float:
    return R * to.dimensions * float(np.log1p(RADIUS**2 * to.rounds / R))


FIRST_ORDER: Final = Theorem("eta", _first_order_bound, _first_order_rate)  # lambda_t = eta lambda
SECOND_ORDER: Final = Theorem("inverse_t", _second_order_bound, _second_order_rate)  # lambda_t = lambda / t
# The second is proved for the full matrix, not for the diagonal.
THEOREMS: Final = {"fsol": FIRST_ORDER, "ssol-full": SECOND_ORDER, "ssol": SECOND_ORDER}
