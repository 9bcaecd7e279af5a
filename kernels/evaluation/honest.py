"""Honest accuracy: served verdicts as if every item had been labelled, from the labels of items that a policy chose.

An item that was chosen with probability p stands for w = 1/p items. Each cell of the confusion matrix is the estimated
number of all served items in it, the sum of w (Horvitz and Thompson 1952); rates are ratios of such sums (Hájek 1971).
Chosen independently, a cell has the variance of the sum of (1 - p) / p^2 = w (w - 1): an item with p = 1 adds none.

Cells are those of `kernels/evaluation/confusion.py`.
"""

import math

import numpy as np

from kernels.arrays import Floats
from kernels.compiler import inlined, kernel

FADING = 0.999  # factor per label of a chosen item by which earlier ones fade
EVER, LATELY = 0, 1
CELLS = 4
LABELS, SUM, VARIANCE, SQUARES = 0, 1, 2, 3  # of a cell: labels, and the sums of w, w (w - 1) and w^2
WIDTH = 4

TAIL = 0.025  # outside of an interval, at each end
UNSEEN = 0.5  # labels that are added to each cell, of the mean weight of items of its verdict: the prior of Jeffreys
MOST_SHAPE = 1e5  # of a gamma distribution; beyond, it is a point
STEPS = 64  # of the bisection, over odds from e^-ODDS to e^ODDS
ODDS = 40.0
MOST_TERMS = 2000
TINY = 1e-300
EPSILON = 1e-13


def new_sums() -> Floats:
    """Return empty sums: since the start, and fading."""
    return np.zeros((2, CELLS, WIDTH))


@kernel
def add(sums: Floats, label: float, verdict: float, weight: float) -> None:
    """Add the label of an item that was chosen with probability 1 / weight."""
    cell = 2 * int(label > 0.0) + int(verdict > 0.0)
    for c in range(CELLS):
        sums[LATELY, c, LABELS] *= FADING
        sums[LATELY, c, SUM] *= FADING
        sums[LATELY, c, VARIANCE] *= FADING * FADING
        sums[LATELY, c, SQUARES] *= FADING * FADING
    for window in range(2):
        sums[window, cell, LABELS] += 1.0
        sums[window, cell, SUM] += weight
        sums[window, cell, VARIANCE] += weight * (weight - 1.0)
        sums[window, cell, SQUARES] += weight * weight


@kernel
def bounds(part: Floats, rest: Floats, unseen_part: Floats, unseen_rest: Floats, found: Floats) -> None:
    """Fill in the ends of the 95% interval of part / (part + rest), two cells.

    Each sum is taken as gamma distributed with its variance, after half of what the label of an unseen item would add.
    The ratio of two gamma variables follows from a beta distribution. With small probabilities this is the interval of
    Jeffreys; with p = 1 it is a point. For figures only: logarithms of the C library are used.
    """
    a, b = part[SUM] + UNSEEN * unseen_part[SUM], rest[SUM] + UNSEEN * unseen_rest[SUM]
    variance_a = part[VARIANCE] + UNSEEN * unseen_part[VARIANCE]
    variance_b = rest[VARIANCE] + UNSEEN * unseen_rest[VARIANCE]
    total = part[SUM] + rest[SUM]
    if variance_a + variance_b <= 0.0:
        found[0] = found[1] = part[SUM] / total
        return
    shape_a, shape_b = _shape(a, variance_a), _shape(b, variance_b)
    scale = (a / shape_a) / (b / shape_b)
    found[0] = _share(scale * _odds_at(TAIL, shape_a, shape_b))
    found[1] = _share(scale / _odds_at(TAIL, shape_b, shape_a))
    found[0] = 0.0 if part[SUM] <= 0.0 else min(found[0], part[SUM] / total)
    found[1] = 1.0 if rest[SUM] <= 0.0 else max(found[1], part[SUM] / total)


@inlined
def _shape(mean: float, variance: float) -> float:
    return MOST_SHAPE if variance <= mean * mean / MOST_SHAPE else mean * mean / variance


@inlined
def _share(odds: float) -> float:
    return odds / (1.0 + odds)


@inlined
def _odds_at(share: float, a: float, b: float) -> float:
    """Return x / (1 - x) for the x below which a beta variable lies with this probability, by bisection."""
    low, high = -ODDS, ODDS
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        if _beta_below(math.exp(middle), a, b) < share:
            low = middle
        else:
            high = middle
    return math.exp(0.5 * (low + high))


@inlined
def _beta_below(odds: float, a: float, b: float) -> float:
    """Return the probability that a beta variable is below odds / (1 + odds)."""
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(odds) - (a + b) * math.log1p(odds)
    if odds * (b + 1.0) < a + 1.0:  # x below its mean: the fraction converges fast
        return math.exp(front) * _fraction(odds / (1.0 + odds), a, b) / a
    return 1.0 - math.exp(front) * _fraction(1.0 / (1.0 + odds), b, a) / b


@inlined
def _fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction of the incomplete beta function, by the method of Lentz."""
    c, d = 1.0, 1.0 / _not_0(1.0 - (a + b) * x / (a + 1.0))
    result = d
    for m in range(1, MOST_TERMS):
        even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        d, c = 1.0 / _not_0(1.0 + even * d), _not_0(1.0 + even / c)
        result *= d * c
        odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        d, c = 1.0 / _not_0(1.0 + odd * d), _not_0(1.0 + odd / c)
        result *= d * c
        if abs(d * c - 1.0) < EPSILON:
            break
    return result


@inlined
def _not_0(value: float) -> float:
    return TINY if abs(value) < TINY else value
