"""The best fixed weights in hindsight: min over w of sum [1 - y w.x]+, exactly, by a linear programme.

Its dual is small: maximise sum a with 0 <= a <= 1 and sum a y x = 0, one equation for each dimension; the weights are
the prices of the equations. Examples that are far from their margin have a = 0 or 1, and only those near it are
given to the solver. That it was right to leave the others out is seen from the result: whatever the guess, weights
whose loss equals the dual's value are optimal.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from experiments.regret.rounds import Matrix
from kernels.arrays import Floats

TOLERANCE: Final = 1e-9  # of the loss: how far the weights may be from optimal
LEAST: Final = 2_000  # examples given to the solver at first,
SHARE: Final = 8  # or this part of all


@dataclass(frozen=True, slots=True, eq=False)
class Best:
    """Weights, their loss, and by how much at most another loss is lower."""

    weights: Floats
    loss: float
    gap: float


def best(signed: Matrix, guess: Floats) -> Best:
    """Find them, starting from a guess; `signed` are the examples times their labels."""
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
    """The hinge loss of fixed weights."""
    return float(np.maximum(0.0, 1.0 - signed @ weights).sum())


def _solve(signed: Matrix, guess: Floats, size: int) -> Best | None:
    """Let the solver choose for so many examples; the guess stands for the others. None if that cannot be."""
    from scipy.optimize import linprog  # noqa: PLC0415 - the only use: tasks can be listed where there is no scipy

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
