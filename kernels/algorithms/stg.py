"""STG: stochastic (truncated) gradient descent (Langford, Li, Zhang 2009).

    if y w.x < 1:  w += eta y x
    every K steps: w = soft(w, K eta lambda_t)  where |w| <= the bound

The second line is done lazily: GRAVITY sums K eta lambda_t, and a row stores the sum that its w contains. That is
exact, because a weight that is small enough to be shrunk stays so.
"""

from kernels.arrays import Floats, Keys
from kernels.compiler import inlined_no_refcount
from kernels.learner.algorithm import FeatureWeight, sparse_algorithm
from kernels.learner.maths import dot, soft
from kernels.learner.options import ETA, TRUNCATE_BELOW, TRUNCATE_EVERY
from kernels.learner.steps import lambda_at
from kernels.learner.totals import GRAVITY, STEP
from kernels.table.rows import FIRST, SECOND

STATE = {"w": 0.0, "touched": 0.0}
OPTIONS = {"eta", "lambda", "lambda_schedule", "target_sparsity", "truncate_every", "truncate_below"}
W, TOUCHED = 0, 1  # rows of `work`


@inlined_no_refcount
def score(work: Floats, totals: Floats, x: Floats, scale: float, lambda_t: float, settings: Floats) -> float:
    """w.x, with the current w left in `work`."""
    gravity, bound = totals[GRAVITY], settings[TRUNCATE_BELOW]
    for k in range(x.size):
        work[W, k] = _shrunk(work[W, k], gravity - work[TOUCHED, k], bound)
    return dot(work, W, x)


@inlined_no_refcount
def step(
    rows: Floats, slots: Keys, work: Floats, totals: Floats, x: Floats, y: float, c: float, wx: float, settings: Floats
) -> bool:
    """Add the gradient if there is a loss; every K steps let the weights shrink."""
    loss = y * wx < 1.0
    if loss:
        rate = settings[ETA] * c * y
        for k in range(x.size):
            rows[slots[k] + FIRST] = work[W, k] + rate * x[k]
            rows[slots[k] + SECOND] = totals[GRAVITY]
    if totals[STEP] % settings[TRUNCATE_EVERY] == 0.0:
        totals[GRAVITY] += settings[TRUNCATE_EVERY] * settings[ETA] * lambda_at(totals[STEP], totals, settings)
    return loss


@inlined_no_refcount
def weigh(rows: Floats, dense: Floats, at: int, totals: Floats, lambda_t: float, settings: Floats) -> FeatureWeight:
    """Weight, size before the threshold, and evidence of the row that begins at `at`."""
    w = _shrunk(rows[at + 1], totals[GRAVITY] - rows[at + 2], settings[TRUNCATE_BELOW])
    return w, abs(w), abs(w)


@inlined_no_refcount
def _shrunk(w: float, gravity: float, bound: float) -> float:
    return soft(w, gravity) if abs(w) <= bound else w


STG = sparse_algorithm("stg", STATE, OPTIONS, {}, score=score, step=step, weigh=weigh)
