"""Drift detection on the error rate by ADWIN2 (Bifet and Gavaldà 2007).

Each class has a window over the errors (0 or 1) of its verdicts. The window grows while, for every cut, its older and
newer part may have the same rate; otherwise its oldest errors are dropped, and a change is counted. It is stored as an
exponential histogram: row r has up to MOST buckets, oldest first, each the sum of 2^r errors. The bound is the paper's,
except that a part counts MINIMUM - 1 fewer labels than it has, as in MOA and river.

Counts are integers, and the only logarithm is `kernels.learner.maths`': replicas find a change at the same label.
"""

import math

import numpy as np

from kernels.arrays import Ints
from kernels.compiler import inlined_no_refcount, subroutine
from kernels.learner.maths import logarithm

DELTA = 0.002  # confidence: a smaller value gives fewer detections and fewer false ones
MOST = 5  # buckets in a row
CLOCK = 32  # labels of the class between two checks
MINIMUM = 5  # labels in the smallest part that is compared
ROWS = 32  # a window of up to MOST * (2^ROWS - 1) labels, after which the oldest are dropped

# Detectors: a row per class; these are its columns.
NORMAL, ANOMALY = 0, 1
SEEN = 0  # labels of this class
LABELS = 1  # labels in the window
ERRORS = 2  # wrong verdicts in the window
WORSE = 3  # changes after which the error rate was higher
BETTER = 4
LAST_WORSE = 5  # labels of both classes when the last change to the worse was found
HISTOGRAM = 6
ROW = MOST + 2  # the number of buckets in use, and their errors, with room for one more
SIZE = HISTOGRAM + ROWS * ROW


def new_detectors() -> Ints:
    """Return empty detectors of both classes."""
    return np.zeros((2, SIZE), np.int64)


@subroutine
def watch(detectors: Ints, c: int, error: int, examples: int) -> None:
    """Add whether a verdict on class `c` was wrong; check for a change at every CLOCK-th.

    `examples` is the number of labels of both classes so far.
    """
    detectors[c, SEEN] += 1
    _insert(detectors, c, error)
    if detectors[c, SEEN] % CLOCK == 0:
        _check(detectors, c, examples)


@inlined_no_refcount
def _insert(detectors: Ints, c: int, error: int) -> None:
    detectors[c, LABELS] += 1
    detectors[c, ERRORS] += error
    errors = error
    for place in range(HISTOGRAM, SIZE, ROW):
        detectors[c, place] += 1
        detectors[c, place + detectors[c, place]] = errors
        if detectors[c, place] <= MOST:
            return
        if place + ROW < SIZE:  # one bucket of the next row for the two oldest of this one
            errors = _take_oldest(detectors, c, place) + _take_oldest(detectors, c, place)
    _drop_oldest(detectors, c)


@inlined_no_refcount
def _check(detectors: Ints, c: int, examples: int) -> None:
    """Drop the oldest bucket while the window can be cut; everything dropped at once counts as one change."""
    rise = first_rise = _rise(detectors, c)
    while rise != 0.0:
        _drop_oldest(detectors, c)
        rise = _rise(detectors, c)
    if first_rise > 0.0:
        detectors[c, WORSE] += 1
        detectors[c, LAST_WORSE] = examples
    elif first_rise < 0.0:
        detectors[c, BETTER] += 1


@subroutine
def _rise(detectors: Ints, c: int) -> float:
    """Return by how much the error rate rises at the first cut that is found, 0 if there is none."""
    n, u = detectors[c, LABELS], detectors[c, ERRORS]
    variance = (u / n) * ((n - u) / n)
    confidence = logarithm(2.0 * logarithm(n) / DELTA)
    n0 = u0 = 0
    for r in range(ROWS - 1, -1, -1):
        place = HISTOGRAM + r * ROW
        for k in range(1, detectors[c, place] + 1):
            n0 += 1 << r
            u0 += detectors[c, place + k]
            n1 = n - n0
            if n0 < MINIMUM or n1 < MINIMUM:
                continue
            rise = (u - u0) / n1 - u0 / n0
            m = 1.0 / (n0 - MINIMUM + 1) + 1.0 / (n1 - MINIMUM + 1)  # 1/m of the paper
            if abs(rise) > math.sqrt(2.0 * m * variance * confidence) + 2.0 / 3.0 * m * confidence:
                return rise
    return 0.0


@subroutine
def _drop_oldest(detectors: Ints, c: int) -> None:
    r = ROWS - 1
    while detectors[c, HISTOGRAM + r * ROW] == 0:
        r -= 1
    detectors[c, LABELS] -= 1 << r
    detectors[c, ERRORS] -= _take_oldest(detectors, c, HISTOGRAM + r * ROW)


@inlined_no_refcount
def _take_oldest(detectors: Ints, c: int, place: int) -> int:
    """Remove the first bucket of the row at `place`; return its errors."""
    errors = detectors[c, place + 1]
    for k in range(1, ROW - 1):
        detectors[c, place + k] = detectors[c, place + k + 1]
    detectors[c, place + ROW - 1] = 0  # unused buckets are 0: equal windows are equal in memory
    detectors[c, place] -= 1
    return errors
