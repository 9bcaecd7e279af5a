"""CPA: cost-sensitive passive-aggressive (Crammer and others 2006).

    loss = sqrt(c) - y w.x
    if loss > 0:  w += min(eta, loss / x.x) y x

c is the cost of y's class; eta, the largest rate, is C of PA-I.
"""

import math

from kernels.arrays import Floats, Keys
from kernels.compiler import inlined_no_refcount
from kernels.learner.algorithm import sparse_algorithm
from kernels.learner.linear import score, weigh
from kernels.learner.maths import squared_norm
from kernels.learner.options import ETA
from kernels.table.rows import FIRST

STATE = {"w": 0.0}
OPTIONS = {"eta", "costs"}
DEFAULTS = {"eta": 3.0}
W = 0  # row of `work`


@inlined_no_refcount
def step(
    rows: Floats, slots: Keys, work: Floats, totals: Floats, x: Floats, y: float, c: float, wx: float, settings: Floats
) -> bool:
    """Go to the margin, by the largest rate at most."""
    loss, norm = math.sqrt(c) - y * wx, squared_norm(x)
    if not (loss > 0.0 and norm > 0.0):
        return False
    rate = min(settings[ETA], loss / norm) * y
    for k in range(x.size):
        rows[slots[k] + FIRST] = work[W, k] + rate * x[k]
    return True


CPA = sparse_algorithm("cpa", STATE, OPTIONS, DEFAULTS, score=score, step=step, weigh=weigh)
