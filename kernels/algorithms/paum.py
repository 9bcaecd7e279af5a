"""PAUM: the perceptron with uneven margins (Li and others 2002).

    if y (w.x + b) <= c:  w += eta y x;  b += eta y R^2

The margin of a class is its cost c. b is a bias of its own, and R^2 the largest x.x so far.
"""

from kernels.arrays import Floats, Keys
from kernels.compiler import inlined_no_refcount
from kernels.learner.algorithm import sparse_algorithm
from kernels.learner.linear import weigh
from kernels.learner.maths import dot, squared_norm
from kernels.learner.options import ETA
from kernels.learner.totals import BIAS, RADIUS
from kernels.table.rows import FIRST

STATE = {"w": 0.0}
OPTIONS = {"eta", "costs"}
W = 0  # row of `work`


@inlined_no_refcount
def score(work: Floats, totals: Floats, x: Floats, scale: float, lambda_t: float, settings: Floats) -> float:
    """w.x + b."""
    return dot(work, W, x) + totals[BIAS]


@inlined_no_refcount
def step(
    rows: Floats, slots: Keys, work: Floats, totals: Floats, x: Floats, y: float, c: float, wx: float, settings: Floats
) -> bool:
    """Add the example, and move the bias, if the score is within the margin."""
    totals[RADIUS] = max(totals[RADIUS], squared_norm(x))
    within = y * wx <= c
    if within:
        rate = settings[ETA] * y
        for k in range(x.size):
            rows[slots[k] + FIRST] = work[W, k] + rate * x[k]
        totals[BIAS] += rate * totals[RADIUS]
    return within


PAUM = sparse_algorithm("paum", STATE, OPTIONS, {}, score=score, step=step, weigh=weigh)
