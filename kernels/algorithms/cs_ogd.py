"""CS-OGD: cost-sensitive online gradient descent, the slope form (Wang, Zhao, Hoi 2014).

    if y w.x < 1:  w += eta c y x

c is the cost of y's class.
"""

from kernels.arrays import Floats, Keys
from kernels.compiler import inlined_no_refcount
from kernels.learner.algorithm import sparse_algorithm
from kernels.learner.linear import score, weigh
from kernels.learner.options import ETA
from kernels.table.rows import FIRST

STATE = {"w": 0.0}
OPTIONS = {"eta", "costs"}
W = 0  # row of `work`


@inlined_no_refcount
def step(
    rows: Floats, slots: Keys, work: Floats, totals: Floats, x: Floats, y: float, c: float, wx: float, settings: Floats
) -> bool:
    """Add the gradient if there is a loss."""
    loss = y * wx < 1.0
    if loss:
        rate = settings[ETA] * c * y
        for k in range(x.size):
            rows[slots[k] + FIRST] = work[W, k] + rate * x[k]
    return loss


CS_OGD = sparse_algorithm("cs_ogd", STATE, OPTIONS, {}, score=score, step=step, weigh=weigh)
