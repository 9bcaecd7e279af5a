"""SSOL and CS-SSOL with the full matrix (Algorithms 4 and 7 of the paper): O(d^2) per example, for small dimensions.

    A^-1 -= A^-1 x x' A^-1 / (r + x' A^-1 x)
    w = soft(A^-1 theta, lambda_t)
    if y w.x < 1:  theta += eta c y x

c is the cost of y's class, 1 in SSOL. `kernels/learner/matrix.py` says where theta and A^-1 are.
"""

import numpy as np

from kernels.arrays import Floats, Keys
from kernels.compiler import inlined
from kernels.learner.algorithm import FeatureWeight, algorithm
from kernels.learner.maths import dot, soft
from kernels.learner.matrix import dot_theta, multiply, number_new, update
from kernels.learner.options import ETA, ON_THETA, R
from kernels.learner.steps import begin, lambda_at
from kernels.learner.totals import FEATURES, OUTCOME, STEP, TABLE_FULL, UNCHANGED, UPDATED
from kernels.table.rows import enter, gather

STATE = {"index": -1.0}
OPTIONS = {"eta", "r", "lambda", "lambda_schedule", "target_sparsity", "threshold_on"}
DEFAULTS: dict[str, float | str] = {"eta": 2.0, "lambda_schedule": "sqrt_t", "max_features": 2048}
FRESH = tuple(STATE.values())
INDEX, W = 0, 1  # rows of `work`


@inlined
def score_one(
    rows: Floats,
    dense: Floats,
    totals: Floats,
    keys: Keys,
    values: Floats,
    start: int,
    stop: int,
    settings: Floats,
    slots: Keys,
    work: Floats,
) -> float:
    """Score `keys[start:stop]` without writing; leave w in `work`."""
    gather(rows, totals, keys, start, stop, slots, work, FRESH)
    x = values[start:stop]
    product = np.zeros(int(totals[FEATURES]))
    share = 1.0 / (settings[R] + multiply(dense, work[INDEX], x, product))
    return _predict(dense, work, x, product, share, lambda_at(totals[STEP] + 1.0, totals, settings), settings)


@inlined
def learn_one(
    rows: Floats,
    dense: Floats,
    totals: Floats,
    keys: Keys,
    values: Floats,
    start: int,
    stop: int,
    y: float,
    settings: Floats,
    slots: Keys,
    work: Floats,
) -> float:
    """Learn `keys[start:stop]`; return the score from before, or set TABLE_FULL if table or matrix must grow first."""
    if not enter(rows, totals, keys, start, stop, slots, work, FRESH, settings):
        return 0.0
    if totals[FEATURES] > dense.shape[1]:
        totals[OUTCOME] = TABLE_FULL
        return 0.0
    x, index = values[start:stop], work[INDEX]
    number_new(rows, totals, slots, index, x.size)
    c = begin(totals, y, settings)
    product = np.zeros(int(totals[FEATURES]))
    share = 1.0 / (settings[R] + multiply(dense, index, x, product))
    wx = _predict(dense, work, x, product, share, lambda_at(totals[STEP], totals, settings), settings)
    update(dense, index, x, product, share, settings[R])
    loss = y * wx < 1.0
    for k in range(x.size):
        if loss and index[k] >= 0.0:
            dense[0, int(index[k])] += settings[ETA] * c * y * x[k]
    totals[OUTCOME] = UPDATED if loss else UNCHANGED
    return wx


@inlined
def weigh(rows: Floats, dense: Floats, at: int, totals: Floats, lambda_t: float, settings: Floats) -> FeatureWeight:
    """Weight, size before the threshold, and evidence of the row that begins at `at`."""
    i, size = int(rows[at + 1]), int(totals[FEATURES])
    evidence = 1.0 / dense[1 + i, i] - 1.0
    if settings[ON_THETA] == 1.0:
        return dot_theta(dense[1 + i], dense, size, lambda_t), abs(dense[0, i]), evidence
    u = dot_theta(dense[1 + i], dense, size, 0.0)
    return soft(u, lambda_t), abs(u), evidence


@inlined
def _predict(
    dense: Floats, work: Floats, x: Floats, product: Floats, share: float, lambda_t: float, settings: Floats
) -> float:
    """w.x, with w left in `work`, as if A contained x: A^-1 itself is not written."""
    index, on_theta = work[INDEX], settings[ON_THETA] == 1.0
    threshold = lambda_t if on_theta else 0.0
    along = dot_theta(product, dense, product.size, threshold) * share
    for k in range(x.size):
        u = -x[k] * along  # a new feature: tied to the others by this very example
        if index[k] >= 0.0:
            i = int(index[k])
            u = dot_theta(dense[1 + i], dense, product.size, threshold) - product[i] * along
        work[W, k] = u if on_theta else soft(u, lambda_t)
    return dot(work, W, x)


SSOL_FULL = algorithm("ssol_full", STATE, OPTIONS, DEFAULTS, score_one, learn_one, weigh)
CS_SSOL_FULL = SSOL_FULL.with_costs()
