"""The best fixed weights in hindsight: min over w of sum [1 - y w.x]+, exactly, by a linear programme.

Its dual is small: maximise sum a with 0 <= a <= 1 and sum a y x = 0, one equation for each dimension; the weights are
the dual prices of the equations. Examples far from their margin have a = 0 or 1, so only those near it go to the
solver. The duality gap certifies the result: weights whose loss equals the value of the dual are optimal.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from experiments.paper.theorems import Matrix, R
from kernels.arrays import Floats

TOLERANCE: Final = 1e-9  # of the loss: how far the weights may be from optimal
LEAST: Final = 2_000  # examples for the solver at first,
SHARE: Final = 8  # or this part of all
ROUNDINGS: Final = (0.5, 0.1, 0.02, 0.004)  # of the corner of the hinge, less and less
STEPS: Final = 2_000


@dataclass(frozen=True, slots=True, eq=False)
class Best:
    """Weights, their loss, and an upper bound of its distance from the optimum."""

    weights: Floats
    loss: float
    gap: float


def best(signed: Matrix, guess: Floats) -> Best:
    """Find them from a guess; `signed` are the examples times their labels."""
    size = max(LEAST, len(signed) // SHARE)
    while True:
        found = _solve(signed, guess, size)
        if found is not None:
            if found.gap <= TOLERANCE * max(1.0, found.loss):
                return found
            guess = found.weights
        if size >= len(signed):
            raise ArithmeticError(f"no weights were found to be the best of {len(signed):,} examples")
        size *= 2


def loss(signed: Matrix, weights: Floats) -> float:
    return float(np.maximum(0.0, 1.0 - signed @ weights).sum())


def limit_loss(signed: Matrix, eta: float) -> float:
    """Return the loss per round at which SSOL with a full matrix ends at a fixed rate, to about three digits.

    Its weights A^-1 theta minimise the sum of the losses, as their gradients show them, plus w' A w / (2 eta): a
    penalty of (w.x)^2 / (2 eta r) in every round, which does not fade. So they end at the least loss plus penalty.
    """
    from scipy.optimize import minimize  # noqa: PLC0415 - tasks can be listed without scipy

    weights = np.zeros(signed.shape[1])
    for rounding in ROUNDINGS:
        found = minimize(
            _penalised, weights, (signed, eta, rounding), method="L-BFGS-B", jac=True, options={"maxiter": STEPS}
        )
        weights = np.asarray(found.x)
    return loss(signed, weights) / len(signed)


def _solve(signed: Matrix, guess: Floats, size: int) -> Best | None:
    """Solve for the `size` examples nearest to their margin, the others as guessed; None if that is infeasible."""
    from scipy.optimize import linprog  # noqa: PLC0415 - tasks can be listed without scipy

    lacking = 1.0 - signed @ guess
    near = np.sort(np.argsort(np.abs(lacking), kind="stable")[:size])
    lost = lacking > 0.0
    lost[near] = False
    found = linprog(
        -np.ones(near.size), A_eq=signed[near].T, b_eq=-signed[lost].sum(axis=0), bounds=(0.0, 1.0), method="highs-ds"
    )
    if found.status != 0:
        return None
    weights = -np.asarray(found.eqlin.marginals)
    own = loss(signed, weights)
    return Best(weights, own, own - (float(np.count_nonzero(lost)) - float(found.fun)))


def _penalised(weights: Floats, signed: Matrix, eta: float, rounding: float) -> tuple[float, Floats]:
    scores = signed @ weights
    lacking = 1.0 - scores
    root = np.hypot(lacking, rounding)
    value = ((lacking + root) / 2.0 + scores**2 / (2.0 * eta * R)).mean()
    slopes = scores / (eta * R) - (1.0 + lacking / root) / 2.0
    return float(value), slopes @ signed / len(signed)
