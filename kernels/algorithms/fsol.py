"""FSOL and CS-FSOL: first order sparse online learning (Algorithms 3 and 6 of the paper).

    w = soft(theta, lambda_t)
    if y w.x < 1:  theta += eta c y x

Dual averaging: theta sums the gradients, and w is its soft threshold. c is the cost of y's class, 1 in FSOL.
"""

from kernels.arrays import Floats, Keys
from kernels.compiler import inlined_no_refcount
from kernels.learner.algorithm import FeatureWeight, sparse_algorithm
from kernels.learner.maths import dot, soft
from kernels.learner.options import ETA
from kernels.learner.totals import SCALE
from kernels.table.rows import FIRST

STATE = {"theta": 0.0}
OPTIONS = {"eta", "lambda", "lambda_schedule", "target_sparsity", "forgetting"}
DEFAULTS = {"lambda_schedule": "eta"}
THETA, W = 0, 1  # rows of `work`


@inlined_no_refcount
def score(work: Floats, totals: Floats, x: Floats, scale: float, lambda_t: float, settings: Floats) -> float:
    """w.x, with w left in `work`."""
    for k in range(x.size):
        work[W, k] = soft(work[THETA, k] * scale, lambda_t)
    return dot(work, W, x)


@inlined_no_refcount
def step(
    rows: Floats, slots: Keys, work: Floats, totals: Floats, x: Floats, y: float, c: float, wx: float, settings: Floats
) -> bool:
    """Add the gradient if there is a loss."""
    loss = y * wx < 1.0
    if loss:
        rate = settings[ETA] * c * y / totals[SCALE]
        for k in range(x.size):
            rows[slots[k] + FIRST] = work[THETA, k] + rate * x[k]
    return loss


@inlined_no_refcount
def weigh(rows: Floats, dense: Floats, at: int, totals: Floats, lambda_t: float, settings: Floats) -> FeatureWeight:
    """Weight, size before the threshold, and evidence of the row that begins at `at`."""
    theta = rows[at + 1] * totals[SCALE]
    return soft(theta, lambda_t), abs(theta), abs(theta)


FSOL = sparse_algorithm("fsol", STATE, OPTIONS, DEFAULTS, score=score, step=step, weigh=weigh)
CS_FSOL = FSOL.with_costs()
