"""FTRL-proximal with the logistic loss and class costs (McMahan and others 2013).

    w = -eta soft(z, lambda_t) / (delta + sqrt(n))
    g = c (sigmoid(w.x) - [y = 1]) x
    z += g - w (sqrt(n + g^2) - sqrt(n)) / eta;  n += g^2

eta is their alpha, delta their beta, c the cost of y's class. Not in the paper: measured as one of the strongest peers.
"""

import math

from kernels.arrays import Floats, Keys
from kernels.compiler import inlined_no_refcount
from kernels.learner.algorithm import FeatureWeight, sparse_algorithm
from kernels.learner.maths import dot, logistic, soft
from kernels.learner.options import DELTA, ETA
from kernels.learner.totals import SCALE
from kernels.table.rows import FIRST, SECOND

STATE = {"z": 0.0, "squares": 0.0}
OPTIONS = {"eta", "delta", "lambda", "lambda_schedule", "target_sparsity", "forgetting", "costs"}
DEFAULTS = {"eta": 2.0}
Z, SQUARES, W = 0, 1, 2  # rows of `work`


@inlined_no_refcount
def score(work: Floats, totals: Floats, x: Floats, scale: float, lambda_t: float, settings: Floats) -> float:
    """w.x, with w left in `work`."""
    for k in range(x.size):
        work[W, k] = _weight(work[Z, k] * scale, work[SQUARES, k] * scale, lambda_t, settings)
    return dot(work, W, x)


@inlined_no_refcount
def step(
    rows: Floats, slots: Keys, work: Floats, totals: Floats, x: Floats, y: float, c: float, wx: float, settings: Floats
) -> bool:
    """Add the gradient; the logistic loss always has one, but for rounding."""
    scale, eta = totals[SCALE], settings[ETA]
    grown = 1.0 / scale
    slope = c * (logistic(wx) - (1.0 if y > 0.0 else 0.0))
    for k in range(x.size):
        gradient, before = slope * x[k], work[SQUARES, k] * scale
        after = before + gradient * gradient
        sigma = (math.sqrt(after) - math.sqrt(before)) / eta
        rows[slots[k] + FIRST] = work[Z, k] + (gradient - sigma * work[W, k]) * grown
        rows[slots[k] + SECOND] = after * grown
    return slope != 0.0


@inlined_no_refcount
def weigh(rows: Floats, dense: Floats, at: int, totals: Floats, lambda_t: float, settings: Floats) -> FeatureWeight:
    """Weight, size before the threshold, and evidence of the row that begins at `at`."""
    z, squares = rows[at + 1] * totals[SCALE], rows[at + 2] * totals[SCALE]
    return _weight(z, squares, lambda_t, settings), abs(z), squares


@inlined_no_refcount
def _weight(z: float, squares: float, lambda_t: float, settings: Floats) -> float:
    return -soft(z, lambda_t) * settings[ETA] / (settings[DELTA] + math.sqrt(squares))


FTRL = sparse_algorithm("ftrl", STATE, OPTIONS, DEFAULTS, score=score, step=step, weigh=weigh, loss="logistic")
