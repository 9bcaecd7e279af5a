"""AROW: adaptive regularisation of weights, diagonal (Crammer, Kulesza, Dredze 2009).

    q = x' A^-1 x
    if y w.x < 1:  w += y (1 - y w.x) A^-1 x / (r + q);  A^-1 -= (A^-1 x)^2 / (r + q)

Not in the paper: measured as one of the strongest peers without class imbalance.
"""

from kernels.arrays import Floats, Keys
from kernels.compiler import inlined_no_refcount
from kernels.learner.algorithm import FeatureWeight, sparse_algorithm
from kernels.learner.inverse import quadratic_form, update_shared
from kernels.learner.linear import score
from kernels.learner.options import R
from kernels.table.rows import FIRST, SECOND

STATE = {"w": 0.0, "inverse": 1.0}
OPTIONS = {"r"}
DEFAULTS = {"r": 0.1}
W, INVERSE = 0, 1  # rows of `work`


@inlined_no_refcount
def step(
    rows: Floats, slots: Keys, work: Floats, totals: Floats, x: Floats, y: float, c: float, wx: float, settings: Floats
) -> bool:
    """Move w and A^-1 if there is a loss."""
    loss = y * wx < 1.0
    if loss:
        q = quadratic_form(work, INVERSE, x)
        rate = c * y * (1.0 - y * wx) / (settings[R] + q)
        for k in range(x.size):
            work[W, k] += rate * work[INVERSE, k] * x[k]
        update_shared(work, INVERSE, x, q, settings[R])
        for k in range(x.size):
            rows[slots[k] + FIRST] = work[W, k]
            rows[slots[k] + SECOND] = work[INVERSE, k]
    return loss


@inlined_no_refcount
def weigh(rows: Floats, dense: Floats, at: int, totals: Floats, lambda_t: float, settings: Floats) -> FeatureWeight:
    """Weight, size before the threshold, and evidence of the row that begins at `at`."""
    return rows[at + 1], abs(rows[at + 1]), 1.0 / rows[at + 2] - 1.0


AROW = sparse_algorithm("arow", STATE, OPTIONS, DEFAULTS, score=score, step=step, weigh=weigh)
