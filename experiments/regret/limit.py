"""Where SSOL at a fixed rate leads to: not to the weights with the least loss.

Its weights A^-1 theta minimise the sum of the losses, as their gradients show them, plus w' A w / (2 eta): a penalty of
(w.x)^2 / (2 eta r) on every round, which does not fade. In the end they are those with the least loss plus penalty,
and what these lose more than the best is lost in every round.
"""

from typing import Final

import numpy as np

from experiments.regret.hindsight import loss
from experiments.regret.rounds import Matrix
from experiments.regret.theorems import R
from kernels.arrays import Floats

ROUNDINGS: Final = (0.5, 0.1, 0.02, 0.004)  # of the corner of the hinge, less and less
STEPS: Final = 2_000


def limit_loss(signed: Matrix, eta: float) -> float:
    """The loss per round of the weights that SSOL with a full matrix goes to, to about three digits."""
    from scipy.optimize import minimize  # noqa: PLC0415 - tasks can be listed where there is no scipy

    weights = np.zeros(signed.shape[1])
    for rounding in ROUNDINGS:
        found = minimize(
            _penalised, weights, (signed, eta, rounding), method="L-BFGS-B", jac=True, options={"maxiter": STEPS}
        )
        weights = np.asarray(found.x)
    return loss(signed, weights) / len(signed)


def _penalised(weights: Floats, signed: Matrix, eta: float, rounding: float) -> tuple[float, Floats]:
    """Loss plus penalty per round, and its gradient."""
    scores = signed @ weights
    lacking = 1.0 - scores
    root = np.hypot(lacking, rounding)
    value = ((lacking + root) / 2.0 + scores**2 / (2.0 * eta * R)).mean()
    slopes = scores / (eta * R) - (1.0 + lacking / root) / 2.0
    return float(value), slopes @ signed / len(signed)
