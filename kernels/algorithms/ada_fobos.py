"""Ada-FOBOS: FOBOS with a rate per feature, from its summed squared gradients (Duchi, Hazan, Singer 2011).

    if y w.x < 1:  G += x^2;  w += eta y x / H  where  H = delta + sqrt(G)
    w = soft(w, eta lambda_t / H)

The second line is done lazily: GRAVITY sums lambda_t, and a row, whose H changes only with its w, stores the sum that
its w contains.
"""

import math

from kernels.arrays import Floats, Keys
from kernels.compiler import inlined_no_refcount
from kernels.learner.algorithm import FeatureWeight, sparse_algorithm
from kernels.learner.maths import dot, soft
from kernels.learner.options import DELTA, ETA
from kernels.learner.steps import lambda_at
from kernels.learner.totals import GRAVITY, STEP
from kernels.table.rows import FIRST, SECOND, THIRD

STATE = {"w": 0.0, "squares": 0.0, "touched": 0.0}
OPTIONS = {"eta", "delta", "lambda", "lambda_schedule", "target_sparsity"}
DEFAULTS = {"eta": 2.0}
W, SQUARES, TOUCHED = 0, 1, 2  # rows of `work`


@inlined_no_refcount
def score(work: Floats, totals: Floats, x: Floats, scale: float, lambda_t: float, settings: Floats) -> float:
    """w.x, with the current w left in `work`."""
    gravity = totals[GRAVITY]
    for k in range(x.size):
        reach = settings[ETA] / (settings[DELTA] + math.sqrt(work[SQUARES, k]))
        work[W, k] = soft(work[W, k], reach * (gravity - work[TOUCHED, k]))
    return dot(work, W, x)


@inlined_no_refcount
def step(
    rows: Floats, slots: Keys, work: Floats, totals: Floats, x: Floats, y: float, c: float, wx: float, settings: Floats
) -> bool:
    """Add the gradient if there is a loss; let all weights shrink."""
    loss = y * wx < 1.0
    if loss:
        rate = settings[ETA] * c * y
        for k in range(x.size):
            squares = work[SQUARES, k] + x[k] * x[k]
            rows[slots[k] + FIRST] = work[W, k] + rate * x[k] / (settings[DELTA] + math.sqrt(squares))
            rows[slots[k] + SECOND] = squares
            rows[slots[k] + THIRD] = totals[GRAVITY]
    totals[GRAVITY] += lambda_at(totals[STEP], totals, settings)
    return loss


@inlined_no_refcount
def weigh(rows: Floats, dense: Floats, at: int, totals: Floats, lambda_t: float, settings: Floats) -> FeatureWeight:
    """Weight, size before the threshold, and evidence of the row that begins at `at`."""
    reach = settings[ETA] / (settings[DELTA] + math.sqrt(rows[at + 2]))
    w = soft(rows[at + 1], reach * (totals[GRAVITY] - rows[at + 3]))
    return w, abs(w) / reach, rows[at + 2]


ADA_FOBOS = sparse_algorithm("ada_fobos", STATE, OPTIONS, DEFAULTS, score=score, step=step, weigh=weigh)
