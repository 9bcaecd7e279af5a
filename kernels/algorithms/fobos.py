"""FOBOS: forward-backward splitting with the rate eta_t = eta / sqrt(t) (Duchi, Singer 2009).

    if y w.x < 1:  w += eta_t y x
    w = soft(w, eta_t lambda_t)

The second line is done lazily: GRAVITY sums eta_t lambda_t, and a row stores the sum that its w contains.
"""

import math

from kernels.arrays import Floats, Keys
from kernels.compiler import inlined_no_refcount
from kernels.learner.algorithm import FeatureWeight, sparse_algorithm
from kernels.learner.maths import dot, soft
from kernels.learner.options import ETA
from kernels.learner.steps import lambda_at
from kernels.learner.totals import GRAVITY, STEP
from kernels.table.rows import FIRST, SECOND

STATE = {"w": 0.0, "touched": 0.0}
OPTIONS = {"eta", "lambda", "lambda_schedule", "target_sparsity"}
DEFAULTS = {"eta": 64.0}
W, TOUCHED = 0, 1  # rows of `work`


@inlined_no_refcount
def score(work: Floats, totals: Floats, x: Floats, scale: float, lambda_t: float, settings: Floats) -> float:
    """w.x, with the current w left in `work`."""
    gravity = totals[GRAVITY]
    for k in range(x.size):
        work[W, k] = soft(work[W, k], gravity - work[TOUCHED, k])
    return dot(work, W, x)


@inlined_no_refcount
def step(
    rows: Floats, slots: Keys, work: Floats, totals: Floats, x: Floats, y: float, c: float, wx: float, settings: Floats
) -> bool:
    """Add the gradient if there is a loss; let all weights shrink."""
    eta_t, loss = settings[ETA] / math.sqrt(totals[STEP]), y * wx < 1.0
    if loss:
        rate = eta_t * c * y
        for k in range(x.size):
            rows[slots[k] + FIRST] = work[W, k] + rate * x[k]
            rows[slots[k] + SECOND] = totals[GRAVITY]
    totals[GRAVITY] += eta_t * lambda_at(totals[STEP], totals, settings)
    return loss


@inlined_no_refcount
def weigh(rows: Floats, dense: Floats, at: int, totals: Floats, lambda_t: float, settings: Floats) -> FeatureWeight:
    """Weight, size before the threshold, and evidence of the row that begins at `at`."""
    w = soft(rows[at + 1], totals[GRAVITY] - rows[at + 2])
    return w, abs(w), abs(w)


FOBOS = sparse_algorithm("fobos", STATE, OPTIONS, DEFAULTS, score=score, step=step, weigh=weigh)
