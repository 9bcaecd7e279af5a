"""Small functions of the algorithms, with bit-identical results on every machine."""

import math

import numpy as np

from kernels.arrays import Floats
from kernels.compiler import inlined_no_refcount

LOG2_E = 1.4426950408889634
LN2_HIGH = 0.6931471803691238  # ln 2 in two parts, the first with trailing zero bits: k * LN2_HIGH is exact
LN2_LOW = 1.9082149292705877e-10
SQRT_HALF = 0.7071067811865476
LARGEST_ERROR = 2.0  # 1 - y w.x beyond which the squared hinge goes on as a line: one wrong label moves a weight so far
LARGEST = 700.0  # beyond it exp would overflow; the logistic function is 0 or 1 long before


@inlined_no_refcount
def soft(value: float, threshold: float) -> float:
    """Soft thresholding: sign(value) * max(|value| - threshold, 0)."""
    return math.copysign(max(abs(value) - threshold, 0.0), value)


@inlined_no_refcount
def dot(work: Floats, row: int, x: Floats) -> float:
    """w.x, with w in a row of `work`, in four lanes: faster than one chain of additions, and as deterministic."""
    a = b = c = d = 0.0
    whole = x.size - x.size % 4
    for k in range(0, whole, 4):
        a += work[row, k] * x[k]
        b += work[row, k + 1] * x[k + 1]
        c += work[row, k + 2] * x[k + 2]
        d += work[row, k + 3] * x[k + 3]
    for k in range(whole, x.size):
        a += work[row, k] * x[k]
    return (a + b) + (c + d)


@inlined_no_refcount
def squared_norm(x: Floats) -> float:
    """x.x."""
    result = 0.0
    for k in range(x.size):
        result += x[k] * x[k]
    return result


@inlined_no_refcount
def exponential(x: float) -> float:
    """e^x from additions and multiplications only: C libraries differ in the last bit, and replicas must not."""
    x = min(max(x, -LARGEST), LARGEST)
    k = np.floor(x * LOG2_E + 0.5)
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    series = 1.0
    for n in range(14, 0, -1):  # |r| <= 0.35: the next term is below the rounding
        series = 1.0 + series * r / n
    return math.ldexp(series, int(k))


@inlined_no_refcount
def logarithm(x: float) -> float:
    """ln x for x > 0, for the same reason: ln((1 + t) / (1 - t)) = 2 (t + t^3 / 3 + t^5 / 5 + ...)."""
    m, k = math.frexp(x)
    if m < SQRT_HALF:
        m, k = 2.0 * m, k - 1
    t = (m - 1.0) / (m + 1.0)
    series = 0.0
    for n in range(23, 0, -2):  # |t| <= 0.172: the next term is below the rounding
        series = 1.0 / n + series * t * t
    return k * LN2_HIGH + (2.0 * t * series + k * LN2_LOW)


@inlined_no_refcount
def logistic(x: float) -> float:
    """1 / (1 + e^-x)."""
    return 1.0 / (1.0 + exponential(-x))
