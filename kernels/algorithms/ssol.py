"""SSOL and CS-SSOL: diagonal second order sparse online learning (Algorithms 5 and 7 of the paper).

    A^-1 -= (A^-1 x)^2 / (r + x' A^-1 x)
    w = soft(A^-1 theta, lambda_t)
    if y w.x < 1:  theta += eta c y x

c is the cost of y's class, 1 in SSOL; costs do not enter A. A contains x before the prediction is made, so a score
computes A^-1 without writing it.
"""

from kernels.arrays import Floats, Keys
from kernels.compiler import inlined_no_refcount
from kernels.learner.algorithm import FeatureWeight, sparse_algorithm
from kernels.learner.inverse import quadratic_form, update_alone, update_shared
from kernels.learner.maths import dot, soft
from kernels.learner.options import COORDINATE, ETA, ON_THETA, R
from kernels.learner.totals import SCALE
from kernels.table.rows import FIRST, SECOND

STATE = {"theta": 0.0, "inverse": 1.0}
OPTIONS = {"eta", "r", "lambda", "lambda_schedule", "target_sparsity", "denominator", "threshold_on", "forgetting"}
DEFAULTS: dict[str, float | str] = {"eta": 2.0, "lambda_schedule": "sqrt_t"}
THETA, INVERSE, W = 0, 1, 2  # rows of `work`


@inlined_no_refcount
def score(work: Floats, totals: Floats, x: Floats, scale: float, lambda_t: float, settings: Floats) -> float:
    """w.x, with theta, A^-1 (which contains x) and w left in `work`."""
    if scale != 1.0:
        for k in range(x.size):
            work[THETA, k] *= scale
            work[INVERSE, k] = min(work[INVERSE, k] / scale, 1.0)
    if settings[COORDINATE] == 1.0:
        update_alone(work, INVERSE, x, settings[R])
    else:
        update_shared(work, INVERSE, x, quadratic_form(work, INVERSE, x), settings[R])
    if settings[ON_THETA] == 1.0:
        for k in range(x.size):
            work[W, k] = work[INVERSE, k] * soft(work[THETA, k], lambda_t)
    else:
        for k in range(x.size):
            work[W, k] = soft(work[INVERSE, k] * work[THETA, k], lambda_t)
    return dot(work, W, x)


@inlined_no_refcount
def step(
    rows: Floats, slots: Keys, work: Floats, totals: Floats, x: Floats, y: float, c: float, wx: float, settings: Floats
) -> bool:
    """Keep A^-1; add the gradient to theta if there is a loss."""
    scale, loss = totals[SCALE], y * wx < 1.0
    rate = settings[ETA] * c * y if loss else 0.0
    grown = 1.0 / scale
    for k in range(x.size):
        rows[slots[k] + FIRST] = (work[THETA, k] + rate * x[k]) * grown
        rows[slots[k] + SECOND] = work[INVERSE, k] * scale
    return loss


@inlined_no_refcount
def weigh(rows: Floats, dense: Floats, at: int, totals: Floats, lambda_t: float, settings: Floats) -> FeatureWeight:
    """Weight, size before the threshold, and evidence of the row that begins at `at`."""
    theta, inverse = rows[at + 1] * totals[SCALE], min(rows[at + 2] / totals[SCALE], 1.0)
    evidence = 1.0 / inverse - 1.0
    if settings[ON_THETA] == 1.0:
        return inverse * soft(theta, lambda_t), abs(theta), evidence
    return soft(inverse * theta, lambda_t), abs(inverse * theta), evidence


@inlined_no_refcount
def rescale(rows: Floats, width: int, totals: Floats) -> None:
    """Multiply SCALE into theta and divide A^-1 by it."""
    for at in range(0, rows.size, width):
        rows[at + 1] *= totals[SCALE]
        rows[at + 2] = min(rows[at + 2] / totals[SCALE], 1.0)
    totals[SCALE] = 1.0


SSOL = sparse_algorithm("ssol", STATE, OPTIONS, DEFAULTS, score=score, step=step, weigh=weigh, rescale=rescale)
CS_SSOL = SSOL.with_costs()
