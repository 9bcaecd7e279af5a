"""Changes of an error rate, found by ADWIN2 (Bifet and Gavaldà 2007).

A window over the errors (0 or 1) of the verdicts on one class grows as long as its older and its newer part could have
the same rate, wherever it is cut in two; else its oldest errors are forgotten, and a change is counted. It is kept as
an exponential histogram: row r has up to MOST buckets, oldest first, each the sum of 2^r errors. The bound is the
paper's, except that a part counts for MINIMUM - 1 fewer labels than it has, as in MOA and river.

All is counted in whole numbers, and the only logarithm is our own: replicas find a change at the same label.
"""

import math

import numpy as np

from kernels.arrays import Ints
from kernels.compiler import inner, whole
from kernels.learner.maths import logarithm

DELTA = 0.002  # confidence: smaller finds less, and less that is not there
MOST = 5  # buckets in a row
CLOCK = 32  # labels of the class from one look for a change to the next
MINIMUM = 5  # labels in the smallest part that is compared
ROWS = 32  # a window of up to MOST * (2^ROWS - 1) labels, after which the oldest are forgotten unasked

# Detectors: a line for each class, with a named place for each number.
NORMAL, ANOMALY = 0, 1
SEEN = 0  # labels of this class
LABELS = 1  # those in the window
ERRORS = 2  # wrong verdicts in the window
WORSE = 3  # changes after which the error rate was higher
BETTER = 4
LAST_WORSE = 5  # labels of both classes when the last change to the worse was found
HISTOGRAM = 6
ROW = MOST + 2  # how many buckets are in use; their errors, with room for one that is too many
SIZE = HISTOGRAM + ROWS * ROW


def new_detectors() -> Ints:
    """Return the detectors of both classes, which have seen nothing."""
    return np.zeros((2, SIZE), np.int64)


@whole
def watch(detectors: Ints, c: int, error: int, examples: int) -> None:
    """Take in whether a verdict on class `c` was wrong; at every CLOCK-th, look for a change.

    `examples` is the number of all labels so far, of both classes.
    """
    detectors[c, SEEN] += 1
    _insert(detectors, c, error)
    if detectors[c, SEEN] % CLOCK == 0:
        _look(detectors, c, examples)


@inner
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
    _forget_oldest(detectors, c)


@inner
def _look(detectors: Ints, c: int, examples: int) -> None:
    """Forget the oldest bucket for as long as the window can be cut; whatever is forgotten at once is one change."""
    rise = first_rise = _rise(detectors, c)
    while rise != 0.0:
        _forget_oldest(detectors, c)
        rise = _rise(detectors, c)
    if first_rise > 0.0:
        detectors[c, WORSE] += 1
        detectors[c, LAST_WORSE] = examples
    elif first_rise < 0.0:
        detectors[c, BETTER] += 1


@whole
def _rise(detectors: Ints, c: int) -> float:
    """By how much the error rate rises where the window must be cut; 0 if all of it may have the same rate."""
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


@whole
def _forget_oldest(detectors: Ints, c: int) -> None:
    r = ROWS - 1
    while detectors[c, HISTOGRAM + r * ROW] == 0:
        r -= 1
    detectors[c, LABELS] -= 1 << r
    detectors[c, ERRORS] -= _take_oldest(detectors, c, HISTOGRAM + r * ROW)


@inner
def _take_oldest(detectors: Ints, c: int, place: int) -> int:
    """Remove the first bucket of the row at `place`; return its errors."""
    errors = detectors[c, place + 1]
    for k in range(1, ROW - 1):
        detectors[c, place + k] = detectors[c, place + k + 1]
    detectors[c, place + ROW - 1] = 0  # what is not in use is 0: equal windows are equal in memory
    detectors[c, place] -= 1
    return errors
