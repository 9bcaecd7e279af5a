"""Rates at every threshold, and the threshold for a target: histograms of the scores of each class, weighted by 1/p.

Labels of items that a review policy chose with probability p count 1/p times. Until there is one, and only with a
target, every label counts once. Older labels fade, because the model moves.

Only sums, products, quotients, comparisons and our own exponential are used, so replicas choose the same threshold at
the same label.
"""

import math

import numpy as np

from kernels.arrays import Floats
from kernels.compiler import inlined, kernel
from kernels.learner.maths import exponential

BINS = 160
PER_UNIT = 32.0  # bins per unit of score, times the scale, as in `kernels/evaluation/calibration.py`
EDGE = 2.5
FADING = 0.998  # per label of the class
COMMON_FADING = 0.9998  # per label, for the share of anomalies
RATE_FADING = 0.999  # per label of a chosen item, for the items per day
OVERFLOW = 0.002  # share of a class beyond the end where the other one lies, above which the range is doubled
INNER = 16  # bins on each side of 0; if nearly all scores lie in these, the range is halved
OUTSIDE = 0.0005
LEAST_SCALE, LARGEST_SCALE = 2.0**-20, 2.0**40
LARGEST_WEIGHT = 1e100
LEAST_LABELS = 30  # of each class that a target needs
DAY = 86_400_000.0  # milliseconds
STEP = 0.025  # by which a label without an error raises the level
MOST_LEVEL = 3.0  # natural logarithm of the correction of a share
NO_TARGET, FALSE_POSITIVE_RATE, SENSITIVITY, PRECISION, REVIEWS_PER_DAY = 0, 1, 2, 3, 4
TARGETS = ("", "false_positive_rate", "sensitivity", "precision", "reviews_per_day")

# Positions in the array; of those with two places, the second one is for anomalies.
THRESHOLD, IS_SET, SCALE, IS_WEIGHTED, LEVEL = 0, 1, 2, 3, 4
LATEST, SPAN, SERVED = 5, 6, 7  # the newest served time, the faded time between labels, the faded items in it
SEEN, WEIGHT, FADED, MASS = 8, 10, 12, 14  # labels; the factor of the next one; the faded labels and items
HEAD = 16
SQUARES = HEAD + 2 * BINS  # sums of the squared weights, for variances
SIZE = HEAD + 4 * BINS


def new_curve() -> Floats:
    """Return empty histograms."""
    data = np.zeros(SIZE)
    data[SCALE] = data[WEIGHT] = data[WEIGHT + 1] = 1.0
    return data


@kernel
def observe(
    data: Floats, label: float, score: float, weight: float, verdict: float, at: float, target: int, value: float
) -> None:
    """Add a label, with the score and the verdict that were served; `weight` is 0 if its item was not chosen."""
    _observe(data, label, score, weight, verdict, at, target, value)


@kernel
def observe_all(
    data: Floats,
    labels: Floats,
    scores: Floats,
    weights: Floats,
    served_scores: Floats,
    verdicts: Floats,
    times: Floats,
    target: int,
    value: float,
    thresholds: Floats,
) -> None:
    """Do the same for a batch, in order; with a target, fill in the threshold that was in force for each example.

    Where no verdict is known to have been served (0), it is that of `scores`.
    """
    for i in range(labels.size):
        if target != NO_TARGET and data[IS_SET] > 0.0:
            thresholds[i] = data[THRESHOLD]
        score, verdict = served_scores[i], verdicts[i]
        if verdict == 0.0:
            score, verdict = scores[i], 1.0 if scores[i] > thresholds[i] else -1.0
        _observe(data, labels[i], score, weights[i], verdict, times[i], target, value)


@kernel
def choose(data: Floats, target: int, value: float) -> None:
    """Choose the threshold for a target, if there are labels enough."""
    _choose(data, target, value)


@kernel
def fill_densities(data: Floats, densities: Floats) -> None:
    """Fill in four rows: the faded number of items in each bin by class, and the sums of their squared weights.

    Both classes fade alike in these: each is brought to its share of the items.
    """
    for c in range(2):
        total = 0.0
        for b in range(BINS):
            total += data[HEAD + c * BINS + b]
        factor = data[MASS + c] / total if total > 0.0 else 0.0
        for b in range(BINS):
            densities[c, b] = factor * data[HEAD + c * BINS + b]
            densities[2 + c, b] = factor * factor * data[SQUARES + c * BINS + b]


@inlined
def _observe(
    data: Floats, label: float, score: float, weight: float, verdict: float, at: float, target: int, value: float
) -> None:
    if math.isnan(score):
        return
    if weight > 0.0:
        if data[IS_WEIGHTED] == 0.0:
            _begin(data)
        _time(data, weight, at)
    elif data[IS_WEIGHTED] > 0.0 or target == NO_TARGET:
        return
    else:
        weight = 1.0
    c = int(label > 0.0)
    _correct(data, c, weight, verdict, target, value)
    _add(data, c, score, weight)
    _fit_range(data)
    _choose(data, target, value)


@inlined
def _begin(data: Floats) -> None:
    """Forget what counted once: from now on labels are weighted. The threshold stays until there are enough."""
    for i in range(SEEN, SIZE):
        data[i] = 0.0
    data[WEIGHT] = data[WEIGHT + 1] = data[IS_WEIGHTED] = 1.0
    data[LEVEL] = 0.0


@inlined
def _time(data: Floats, weight: float, at: float) -> None:
    """Follow how many items are served in how much time."""
    if not at > 0.0:
        return
    if data[LATEST] > 0.0:
        data[SPAN] = RATE_FADING * data[SPAN] + max(at - data[LATEST], 0.0)
        data[SERVED] = RATE_FADING * data[SERVED] + weight
    data[LATEST] = max(data[LATEST], at)


@inlined
def _add(data: Floats, c: int, score: float, weight: float) -> None:
    data[SEEN + c] += 1.0
    data[FADED + c] = FADING * data[FADED + c] + 1.0
    data[MASS] *= COMMON_FADING
    data[MASS + 1] *= COMMON_FADING
    data[MASS + c] += weight
    data[WEIGHT + c] /= FADING  # instead of fading all bins
    place = HEAD + c * BINS
    if data[WEIGHT + c] > LARGEST_WEIGHT:
        for b in range(BINS):
            data[place + b] /= data[WEIGHT + c]
            data[place + 2 * BINS + b] /= data[WEIGHT + c] * data[WEIGHT + c]
        data[WEIGHT + c] = 1.0
    b = int(min(max((score / data[SCALE] + EDGE) * PER_UNIT, 0.0), BINS - 1.0))
    added = weight * data[WEIGHT + c]
    data[place + b] += added
    data[place + 2 * BINS + b] += added * added


@inlined
def _correct(data: Floats, c: int, weight: float, verdict: float, target: int, value: float) -> None:
    """Correct the level by the error of a served verdict (adaptive conformal inference, Gibbs and Candès 2021).

    The histograms lag behind the model, and bins are coarse: an integral term makes the realised rate the target.
    """
    if data[IS_SET] == 0.0 or data[SEEN + c] == 0.0:
        return
    if (target == FALSE_POSITIVE_RATE and c == 0) or (target == SENSITIVITY and c == 1):
        wanted = value if c == 0 else 1.0 - value
        wrong = 1.0 if (verdict > 0.0) != (c == 1) else 0.0
        total = 0.0
        for b in range(BINS):
            total += data[HEAD + c * BINS + b]
        mean_weight = total / data[WEIGHT + c] / data[FADED + c]
        step = STEP / wanted * weight / mean_weight * (wanted - wrong)
        data[LEVEL] = min(max(data[LEVEL] + step, -MOST_LEVEL), MOST_LEVEL)


@inlined
def _fit_range(data: Floats) -> None:
    """Double the range if many scores lie beyond the wrong end of it; halve it if nearly all lie around 0."""
    double, halve = False, True
    for c in range(2):
        place = HEAD + c * BINS
        total = outside = 0.0
        for b in range(BINS):
            total += data[place + b]
            if not BINS // 2 - INNER <= b < BINS // 2 + INNER:
                outside += data[place + b]
        double = double or data[place + (1 - c) * (BINS - 1)] > OVERFLOW * total
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
    for place in range(HEAD, SIZE, BINS):
        for b in range(BINS):
            before[b] = data[place + b]
            data[place + b] = 0.0
        for b in range(BINS):
            if factor > 1.0:
                data[place + BINS // 4 + b // 2] += before[b]
            else:
                for half in range(2):
                    data[place + min(max(2 * b - BINS // 2 + half, 0), BINS - 1)] += 0.5 * before[b]


@inlined
def _choose(data: Floats, target: int, value: float) -> None:
    normal, anomaly = data[SEEN] >= LEAST_LABELS, data[SEEN + 1] >= LEAST_LABELS
    found = math.nan
    if target == FALSE_POSITIVE_RATE and normal:
        found = _at_share(data[HEAD : HEAD + BINS], value * exponential(data[LEVEL]))
    elif target == SENSITIVITY and anomaly:
        found = _at_share(data[HEAD + BINS : SQUARES], 1.0 - (1.0 - value) * exponential(data[LEVEL]))
    elif target == PRECISION and normal and anomaly:
        densities = np.empty((4, BINS))
        fill_densities(data, densities)
        found = _at_precision(densities[0], densities[1], value)
    elif target == REVIEWS_PER_DAY and data[SPAN] > 0.0 and data[SEEN] + data[SEEN + 1] >= LEAST_LABELS:
        densities = np.empty((4, BINS))
        fill_densities(data, densities)
        found = _at_share(densities[0] + densities[1], value * data[SPAN] / (DAY * data[SERVED]))
    if not math.isnan(found):
        data[THRESHOLD], data[IS_SET] = data[SCALE] * found, 1.0


@inlined
def _at_share(density: Floats, share: float) -> float:
    """Return the threshold, in units of the scale, above which this share lies; within a bin it is interpolated."""
    total = 0.0
    for b in range(BINS):
        total += density[b]
    left = max(share, 0.0) * total
    for b in range(BINS - 1, -1, -1):
        if density[b] > left:
            return (b + 1 - left / density[b]) / PER_UNIT - EDGE
        left -= density[b]
    return -EDGE


@inlined
def _at_precision(normal: Floats, anomaly: Floats, precision: float) -> float:
    """Return the lowest threshold, in units of the scale, above which this share are anomalies; else the best one."""
    alarms = found = 0.0
    best, highest, wanted = EDGE, -1.0, math.nan
    for b in range(BINS - 1, -1, -1):
        surplus = found - precision * (found + alarms)
        change = anomaly[b] - precision * (anomaly[b] + normal[b])
        if surplus >= 0.0 and found > 0.0 and surplus + change < 0.0:
            wanted = (b + 1 + surplus / change) / PER_UNIT - EDGE
        found += anomaly[b]
        alarms += normal[b]
        if found > 0.0 and found > highest * (found + alarms):
            best, highest = b / PER_UNIT - EDGE, found / (found + alarms)
    if found >= precision * (found + alarms):
        return -EDGE
    return best if math.isnan(wanted) else wanted
