"""Where to draw the line between scores, and what a score means: histograms of the scores of each class.

The scores are those just before an example was learnt (test, then train). Older ones fade. From the histograms follow a
threshold, which is chosen again whenever they have changed by some per cent, and a table of probabilities.

Only sums, products, quotients and comparisons are used, so replicas choose the same threshold at the same label.
"""

import math
from collections.abc import Sequence

import numpy as np

from kernels.arrays import Floats
from kernels.compiler import inlined, kernel

BINS = 160
PER_UNIT = 32.0  # bins per unit of score; a bin boundary is a sum of powers of two, so it is exact
EDGE = 2.5  # the histograms reach from -EDGE to EDGE, times the scale
# Per label of the rarer class, and of the other one. Errors and their costs differ less between thresholds than
# balanced accuracy does, so more labels are needed to tell which threshold is best.
FADING = ((0.995, 0.999), (0.999, 0.9998), (0.999, 0.9998))  # by objective
SHARE_FADING = 0.9995
PRIOR = 3.0  # labels of each class, spread evenly over all scores
LEVEL = 0.0025  # thresholds that differ by less in the objective count as equally good
CHANGE = 0.02  # of a histogram, after which the threshold is chosen again
WIDEST = 16  # bins: half the width of the kernel that smooths one label; with n labels it is 16 n^-0.2
OVERFLOW = 0.05  # share of a class beyond the far end of the range, above which the range is doubled
INNER = 16  # bins on each side of 0; if nearly all scores lie in these, the range is halved
OUTSIDE = 0.01  # share of the labels that may lie outside of them
LEAST_SCALE, LARGEST_SCALE = 2.0**-20, 2.0**40
LARGEST_WEIGHT = 1e100
LEAST_LABELS = 30  # of each class, before there are probabilities
BALANCED, ERROR, COST = 0, 1, 2
OBJECTIVES = ("balanced", "error", "cost")

# Positions in the array; of those with two places, the second one is for anomalies.
THRESHOLD, SCALE, CHANGED, ANOMALIES, LABELS = 0, 1, 2, 3, 4
SEEN, WEIGHT, MASS = 5, 7, 9  # labels of the class; the weight of the next one; the faded number of labels
HEAD = 11
SIZE = HEAD + 2 * BINS


def new_calibration() -> Floats:
    """Return empty histograms, with the threshold 0."""
    data = np.zeros(SIZE)
    data[SCALE] = data[WEIGHT] = data[WEIGHT + 1] = 1.0
    return data


@kernel
def observe(
    data: Floats, label: float, score: float, objective: int, cost_positive: float, cost_negative: float
) -> None:
    """Add the score of one labelled example, and choose the threshold again if it is time."""
    _observe(data, label, score, objective, cost_positive, cost_negative)


@kernel
def observe_all(
    data: Floats,
    labels: Floats,
    scores: Floats,
    objective: int,
    cost_positive: float,
    cost_negative: float,
    thresholds: Floats,
) -> None:
    """Do the same for a batch, in order; fill in the threshold that was in force for each example."""
    for i in range(labels.size):
        thresholds[i] = data[THRESHOLD]
        _observe(data, labels[i], scores[i], objective, cost_positive, cost_negative)


@kernel
def fill_probabilities(data: Floats, table: Floats) -> None:
    """Fill in the probability of an anomaly at the middle of each bin, never falling with the score.

    By Bayes' rule from the smoothed histograms and the share of anomalies among the labels, then isotonic regression
    (pool adjacent violators).
    """
    share = (data[ANOMALIES] + 1.0) / (data[LABELS] + 2.0)
    normal, anomaly = np.empty(BINS), np.empty(BINS)
    _smooth(data, 0, normal)
    _smooth(data, 1, anomaly)
    sums, weights, sizes = np.empty(BINS), np.empty(BINS), np.empty(BINS, np.int64)
    blocks = 0
    for b in range(BINS):
        sums[blocks], sizes[blocks] = share * anomaly[b], 1
        weights[blocks] = sums[blocks] + (1.0 - share) * normal[b]
        blocks += 1
        while blocks > 1 and sums[blocks - 2] * weights[blocks - 1] >= sums[blocks - 1] * weights[blocks - 2]:
            blocks -= 1
            sums[blocks - 1] += sums[blocks]
            weights[blocks - 1] += weights[blocks]
            sizes[blocks - 1] += sizes[blocks]
    b = 0
    for block in range(blocks):
        for _ in range(sizes[block]):
            table[b] = sums[block] / weights[block]
            b += 1


def probability_table(data: Floats) -> list[float]:
    """Return the probability in the middle of each bin of scores; nothing until there are enough labels."""
    if min(data[SEEN], data[SEEN + 1]) < LEAST_LABELS:
        return []
    table = np.empty(BINS)
    fill_probabilities(data, table)
    return table.tolist()


def interpolated(table: Sequence[float], score: float) -> float:
    """Return the probability of a score, in units of the scale: between the middles of two bins it is interpolated."""
    place = (score + EDGE) * PER_UNIT - 0.5
    if place <= 0.0:
        return table[0]
    if place >= BINS - 1:
        return table[-1]
    below = int(place)
    return table[below] + (place - below) * (table[below + 1] - table[below])


@inlined
def _observe(
    data: Floats, label: float, score: float, objective: int, cost_positive: float, cost_negative: float
) -> None:
    if math.isnan(score):
        return
    c = int(label > 0.0)
    data[SEEN + c] += 1.0
    fading = FADING[objective][0 if data[SEEN + c] <= data[SEEN + 1 - c] else 1]
    data[ANOMALIES] = SHARE_FADING * data[ANOMALIES] + c
    data[LABELS] = SHARE_FADING * data[LABELS] + 1.0
    data[MASS + c] = fading * data[MASS + c] + 1.0
    data[WEIGHT + c] /= fading  # instead of fading all bins
    first = HEAD + c * BINS
    if data[WEIGHT + c] > LARGEST_WEIGHT:
        for b in range(first, first + BINS):
            data[b] /= data[WEIGHT + c]
        data[WEIGHT + c] = 1.0
    data[first + _bin(score / data[SCALE])] += data[WEIGHT + c]
    data[CHANGED] += 1.0 / (data[MASS + c] + PRIOR)
    if data[CHANGED] >= CHANGE and min(data[SEEN], data[SEEN + 1]) > 0.0:
        data[CHANGED] = 0.0
        _fit_range(data)
        data[THRESHOLD] = _best_threshold(data, objective, cost_positive, cost_negative)


@inlined
def _bin(score: float) -> int:
    return int(min(max((score + EDGE) * PER_UNIT, 0.0), BINS - 1.0))


@inlined
def _fit_range(data: Floats) -> None:
    """Double the range if many scores lie beyond the wrong end of it; halve it if nearly all lie around 0.

    Scores beyond the right end do not matter: the threshold lies between the classes.
    """
    double, halve = False, True
    for c in range(2):
        first = HEAD + c * BINS
        total = outside = 0.0
        for b in range(BINS):
            total += data[first + b]
            if not BINS // 2 - INNER <= b < BINS // 2 + INNER:
                outside += data[first + b]
        double = double or data[first + (1 - c) * (BINS - 1)] > OVERFLOW * total
        halve = halve and outside <= OUTSIDE * total
    if double and data[SCALE] < LARGEST_SCALE:
        _rescale(data, 2.0)
    elif halve and data[SCALE] > LEAST_SCALE:
        _rescale(data, 0.5)


@inlined
def _rescale(data: Floats, factor: float) -> None:
    """Move what is in each bin to the bins of another range: pairs are merged, or bins are split in halves."""
    data[SCALE] *= factor
    before = np.empty(BINS)
    for c in range(2):
        first = HEAD + c * BINS
        for b in range(BINS):
            before[b] = data[first + b]
            data[first + b] = 0.0
        for b in range(BINS):
            if factor > 1.0:
                data[first + BINS // 4 + b // 2] += before[b]
            else:
                for half in range(2):
                    place = min(max(2 * b - BINS // 2 + half, 0), BINS - 1)
                    data[first + place] += 0.5 * before[b]


@inlined
def _smooth(data: Floats, c: int, density: Floats) -> None:
    """Fill in the share of the scores of a class in each bin: two moving averages, and the prior."""
    first, mass = HEAD + c * BINS, 0.0
    for b in range(BINS):
        density[b] = data[first + b] / data[WEIGHT + c]
        mass += density[b]
    radius = WIDEST
    while radius > 0 and radius * radius * radius * radius * radius * mass > WIDEST * WIDEST * WIDEST * WIDEST * WIDEST:
        radius -= 1
    sums = np.empty(BINS + 1)
    for _ in range(2):
        sums[0] = 0.0
        for b in range(BINS):
            sums[b + 1] = sums[b] + density[b]
        total = 0.0
        for b in range(BINS):
            density[b] = sums[min(b + radius + 1, BINS)] - sums[max(b - radius, 0)]
            total += density[b]
        for b in range(BINS):  # what is moved beyond the ends is given back to all
            density[b] = density[b] * mass / total if total > 0.0 else 0.0
    for b in range(BINS):
        density[b] = (density[b] + PRIOR / BINS) / (mass + PRIOR)


@inlined
def _best_threshold(data: Floats, objective: int, cost_positive: float, cost_negative: float) -> float:
    """Return the bin boundary with the least weighted sum of missed anomalies and false alarms.

    Among boundaries that are about equally good, the one with the fewest errors in all.
    """
    share = (data[ANOMALIES] + 1.0) / (data[LABELS] + 2.0)
    missing, alarming = 0.5, 0.5
    if objective == ERROR:
        missing, alarming = share, 1.0 - share
    elif objective == COST:
        missing, alarming = share * cost_positive, (1.0 - share) * cost_negative
        missing, alarming = missing / (missing + alarming), alarming / (missing + alarming)
    normal, anomaly = np.empty(BINS), np.empty(BINS)
    _smooth(data, 0, normal)
    _smooth(data, 1, anomaly)
    missed, alarms, least = 0.0, 1.0, alarming
    for b in range(BINS):
        missed += anomaly[b]
        alarms -= normal[b]
        least = min(least, missing * missed + alarming * alarms)
    missed, alarms, best, fewest = 0.0, 1.0, 0, math.inf
    for b in range(BINS + 1):
        errors = share * missed + (1.0 - share) * alarms
        if missing * missed + alarming * alarms <= least + LEVEL and errors < fewest:
            best, fewest = b, errors
        if b < BINS:
            missed += anomaly[b]
            alarms -= normal[b]
    return data[SCALE] * (best / PER_UNIT - EDGE)
