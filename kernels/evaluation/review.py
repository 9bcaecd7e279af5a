"""Which predictions a person should review: the width of the uncertain band, the choice, and what an error costs."""

import math

import numpy as np

from kernels.arrays import Floats
from kernels.compiler import inlined, kernel
from kernels.evaluation.calibration import ANOMALIES, BALANCED, BINS, COST, EDGE, HEAD, LABELS, PER_UNIT, SCALE, SEEN

UNCERTAIN, FLAGGED, RANDOM, UNKNOWN = 1, 2, 3, 4
NO_BAND = -1.0


@kernel
def uncertain_margin(histograms: Floats, threshold: float, band: float) -> float:
    """Return the distance from the threshold within which the share `band` of all scores lies; -1 without labels.

    Each class counts with its estimated share. With few labels of the rarer class the band is wider, because nobody
    knows yet where its scores will be: it begins with half of all scores.
    """
    fewest = min(histograms[SEEN], histograms[SEEN + 1])
    if histograms[SEEN] + histograms[SEEN + 1] <= 0.0:
        return NO_BAND
    density = np.empty(BINS)
    _fill_density(histograms, density)
    left = max(band, 1.0 / (2.0 + fewest))
    place = (threshold / histograms[SCALE] + EDGE) * PER_UNIT
    above = int(min(max(place, 0.0), BINS - 1.0))
    below = above - 1
    margin = 0.0
    while left > 0.0:
        if below < 0 and above >= BINS:
            return math.inf
        # Take the bin whose middle is nearer to the threshold.
        if above >= BINS or (below >= 0 and place - below - 0.5 < above + 0.5 - place):
            b, margin = below, place - below
            below -= 1
        else:
            b, margin = above, above + 1.0 - place
            above += 1
        left -= density[b]
    return margin * histograms[SCALE] / PER_UNIT


@inlined
def _fill_density(histograms: Floats, density: Floats) -> None:
    """Fill in the share of all scores in each bin; a class without labels has none."""
    anomalies = (histograms[ANOMALIES] + 1.0) / (histograms[LABELS] + 2.0)
    if min(histograms[SEEN], histograms[SEEN + 1]) <= 0.0:
        anomalies = 1.0 if histograms[SEEN + 1] > 0.0 else 0.0
    density[:] = 0.0
    for c in range(2):
        first, mass = HEAD + c * BINS, 0.0
        for b in range(BINS):
            mass += histograms[first + b]
        for b in range(BINS):
            if mass > 0.0:
                density[b] += (anomalies if c else 1.0 - anomalies) * histograms[first + b] / mass


def share_of(reason: int, is_flagged: bool, uncertain: float, flagged: float, random: float) -> float:  # noqa: FBT001
    """Return the largest share among the reasons that apply; `reason` is UNCERTAIN, UNKNOWN or RANDOM."""
    share = max(flagged, random) if is_flagged else random
    return share if reason == RANDOM else max(share, uncertain)


def named_reason(reason: int, is_flagged: bool, draw: float, uncertain: float, flagged: float) -> int:  # noqa: FBT001
    """Return the most valuable reason that applies and whose share is above the draw, for a chosen prediction."""
    if reason != RANDOM and draw < uncertain:
        return reason
    return FLAGGED if is_flagged and draw < flagged else RANDOM


def expected_cost(
    probability: float | None, label: int, distance: float, objective: int | None, costs: tuple[float, float, float]
) -> float:
    """Return the probability that a verdict is wrong, times what such an error costs under the objective.

    `costs` are those of a missed anomaly and of a false alarm, and the share of anomalies. Without probabilities only
    the distance from the threshold is known, and the cost falls with it.
    """
    if not math.isfinite(distance):
        return 0.5
    if probability is None:
        return 0.5 / (1.0 + distance)
    missed, alarm, share = costs
    wrong = probability if label < 0 else 1.0 - probability
    if objective == BALANCED:  # an error counts as its part of the class
        return 0.5 * wrong / (share if label < 0 else 1.0 - share)
    return wrong * (missed if label < 0 else alarm) if objective == COST else wrong
