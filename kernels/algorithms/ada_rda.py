"""Ada-RDA: adaptive regularised dual averaging with a diagonal matrix (Duchi, Hazan, Singer 2011).

    w = eta soft(theta, lambda_t) / (delta + sqrt(G))
    if y w.x < 1:  theta += y x;  G += x^2

theta sums the gradients and G their squares; lambda_t grows with t.
"""

import math

from kernels.arrays import Floats, Keys
from kernels.compiler import inlined_no_refcount
from kernels.learner.algorithm import FeatureWeight, sparse_algorithm
from kernels.learner.maths import dot, soft
from kernels.learner.options import DELTA, ETA
from kernels.learner.totals import SCALE
from kernels.table.rows import FIRST, SECOND

STATE = {"theta": 0.0, "squares": 0.0}
OPTIONS = {"eta", "delta", "lambda", "lambda_schedule", "target_sparsity", "forgetting"}
DEFAULTS: dict[str, float | str] = {"eta": 2.0, "lambda_schedule": "linear"}
THETA, SQUARES, W = 0, 1, 2  # rows of `work`


@inlined_no_refcount
def score(work: Floats, totals: Floats, x: Floats, scale: float, lambda_t: float, settings: Floats) -> float:
    """w.x, with w left in `work`."""
    for k in range(x.size):
        adapted = settings[DELTA] + math.sqrt(work[SQUARES, k] * scale)
        work[W, k] = settings[ETA] * soft(work[THETA, k] * scale, lambda_t) / adapted
    return dot(work, W, x)


@inlined_no_refcount
def step(
    rows: Floats, slots: Keys, work: Floats, totals: Floats, x: Floats, y: float, c: float, wx: float, settings: Floats
) -> bool:
    """Add the gradient and its square if there is a loss."""
    loss = y * wx < 1.0
    if loss:
        grown = 1.0 / totals[SCALE]
        rate = c * y * grown
        for k in range(x.size):
            rows[slots[k] + FIRST] = work[THETA, k] + rate * x[k]
            rows[slots[k] + SECOND] = work[SQUARES, k] + x[k] * x[k] * grown
    return loss


@inlined_no_refcount
def weigh(rows: Floats, dense: Floats, at: int, totals: Floats, lambda_t: float, settings: Floats) -> FeatureWeight:
    """Weight, size before the threshold, and evidence of the row that begins at `at`."""
    theta, squares = rows[at + 1] * totals[SCALE], rows[at + 2] * totals[SCALE]
    return settings[ETA] * soft(theta, lambda_t) / (settings[DELTA] + math.sqrt(squares)), abs(theta), squares


ADA_RDA = sparse_algorithm("ada_rda", STATE, OPTIONS, DEFAULTS, score=score, step=step, weigh=weigh)
