"""CS-SOL: adaptive dual averaging with the squared hinge, a member of the paper's general framework (Algorithm 2).

    x_i *= (n_i + 10)^(-1/4), then x is scaled back to its length
    w = soft(theta, lambda_t) / (delta + sqrt(G)); with a target sparsity, a theta above lambda_t is not shrunk
    e = min(max(1 - y w.x, 0), 2);  theta += eta c y 2e x;  G += (2e x)^2;  n += 1

n counts the labelled examples that had the feature: frequent features weigh less from the start. The gradient ends at
e = 2, so that one wrong label cannot move a weight far. c is the cost of y's class; costs do not enter G.

If scores have the wrong sign much more often lately than before, the labels contradict what was learnt: theta and G are
discounted until the two shares of wrong signs are near to each other again. On a steady stream this never happens.

n is stored in the last 20 bits of G, which leaves 32 bits of precision to G: a third number would add 20 bytes to every
feature. n stays at 2^20 - 1.
"""

import math

import numpy as np

from kernels.arrays import Floats, Keys
from kernels.compiler import inlined_no_refcount
from kernels.learner.algorithm import FeatureWeight, sparse_algorithm
from kernels.learner.maths import LARGEST_ERROR, dot, soft
from kernels.learner.options import DELTA, ETA, TARGET
from kernels.learner.totals import BEFORE, LATELY, SCALE
from kernels.table.rows import FIRST, SECOND

STATE = {"theta": 0.0, "squares_and_count": 0.0}
OPTIONS = {"eta", "delta", "lambda", "lambda_schedule", "target_sparsity", "forgetting", "costs"}
DEFAULTS: dict[str, float | str] = {"eta": 0.35}
THETA, SQUARES, W = 0, 1, 2  # rows of `work`
FACTOR = SQUARES  # what each value is multiplied by, once the squares have been used
COUNT_BITS = np.uint64((1 << 20) - 1)
ONE = np.uint64(1)
COMMON = 10.0  # labelled examples after which a feature begins to weigh less
SHORT, LONG = 1.0 / 64.0, 1.0 / 1024.0  # the weight of a label in the shares of wrong signs lately, and before
CONTRADICTION = 0.3  # the difference of the two shares at which forgetting begins
FORGETTING = 0.2  # per label, times what the difference is beyond that
IMBALANCE_HALVED = 1000.0  # costs stay near 1: an online threshold does their work, and they hurt the ranking


@inlined_no_refcount
def score(work: Floats, totals: Floats, x: Floats, scale: float, lambda_t: float, settings: Floats) -> float:
    """w.x, with the factor of each value left in `work`, and w, which contains it."""
    bits = work.view(np.uint64)
    for k in range(x.size):
        adapted = settings[DELTA] + math.sqrt(work[SQUARES, k] * scale)
        work[W, k] = _cut(work[THETA, k] * scale, lambda_t, settings) / adapted
        work[FACTOR, k] = _rarity(bits[SQUARES, k])
    length = _length_kept(work, x)
    for k in range(x.size):
        work[FACTOR, k] *= length
        work[W, k] *= work[FACTOR, k]
    return dot(work, W, x)


@inlined_no_refcount
def step(
    rows: Floats, slots: Keys, work: Floats, totals: Floats, x: Floats, y: float, c: float, wx: float, settings: Floats
) -> bool:
    """Count the features; add the gradient and its square if there is a loss."""
    totals[SCALE] *= _kept(totals, y * wx)
    slope = 2.0 * min(max(1.0 - y * wx, 0.0), LARGEST_ERROR)
    grown = 1.0 / totals[SCALE]
    rate = settings[ETA] * c * y * slope * grown
    bits = rows.view(np.uint64)
    for k in range(x.size):
        value = x[k] * work[FACTOR, k]
        gradient = slope * value
        squares = slots[k] + SECOND
        count = min((bits[squares] & COUNT_BITS) + ONE, COUNT_BITS)
        rows[slots[k] + FIRST] = work[THETA, k] + rate * value
        rows[squares] += gradient * gradient * grown
        bits[squares] = bits[squares] & ~COUNT_BITS | count
    return slope > 0.0


@inlined_no_refcount
def weigh(rows: Floats, dense: Floats, at: int, totals: Floats, lambda_t: float, settings: Floats) -> FeatureWeight:
    """Weight, size before the threshold, and evidence of the row that begins at `at`."""
    theta, squares = rows[at + 1] * totals[SCALE], rows[at + 2] * totals[SCALE]
    weight = _cut(theta, lambda_t, settings) / (settings[DELTA] + math.sqrt(squares))
    return weight * _rarity(rows.view(np.uint64)[at + 2]), abs(theta), squares


@inlined_no_refcount
def rescale(rows: Floats, width: int, totals: Floats) -> None:
    """Multiply SCALE into the sums; counts are never discounted."""
    bits = rows.view(np.uint64)
    for at in range(0, rows.size, width):
        count = bits[at + 2] & COUNT_BITS
        rows[at + 1] *= totals[SCALE]
        rows[at + 2] *= totals[SCALE]
        bits[at + 2] = bits[at + 2] & ~COUNT_BITS | count
    totals[SCALE] = 1.0


@inlined_no_refcount
def _kept(totals: Floats, margin: float) -> float:
    """Note whether the sign of the score was wrong; return what the sums are to be multiplied by."""
    error = 0.5 if margin < 0.0 else -0.5
    totals[LATELY] += SHORT * (error - totals[LATELY])
    totals[BEFORE] += LONG * (error - totals[BEFORE])
    return 1.0 - FORGETTING * max(totals[LATELY] - totals[BEFORE] - CONTRADICTION, 0.0)


@inlined_no_refcount
def _cut(theta: float, lambda_t: float, settings: Floats) -> float:
    """The soft threshold of the framework; with a target sparsity what remains is not shrunk."""
    if settings[TARGET] > 0.0:
        return theta if abs(theta) > lambda_t else 0.0
    return soft(theta, lambda_t)


@inlined_no_refcount
def _rarity(bits: np.uint64) -> float:
    """(n + 10)^(-1/4), from square roots, which are exact to the last bit everywhere."""
    return math.sqrt(1.0 / math.sqrt(float(bits & COUNT_BITS) + COMMON))


@inlined_no_refcount
def _length_kept(work: Floats, x: Floats) -> float:
    """Return what gives the values, each times its factor, their length again; two lanes for each of the sums."""
    a = b = c = d = 0.0
    even = x.size - x.size % 2
    for k in range(0, even, 2):
        a += x[k] * x[k]
        b += x[k + 1] * x[k + 1]
        first, second = x[k] * work[FACTOR, k], x[k + 1] * work[FACTOR, k + 1]
        c += first * first
        d += second * second
    for k in range(even, x.size):
        a += x[k] * x[k]
        c += (x[k] * work[FACTOR, k]) * (x[k] * work[FACTOR, k])
    return math.sqrt((a + b) / (c + d)) if c + d > 0.0 else 1.0


CS_SOL = sparse_algorithm(
    "cs_sol", STATE, OPTIONS, DEFAULTS, score=score, step=step, weigh=weigh, rescale=rescale, loss="squared_hinge",
    imbalance_halved=IMBALANCE_HALVED,
)  # fmt: skip
