"""Honest figures: rates of the served verdicts as if every item had been labelled, with intervals.

docs/algorithms.md has the formulas.
"""

import math
from dataclasses import dataclass

import numpy as np

from app.learning.prequential import HonestCounts
from kernels.arrays import Floats
from kernels.evaluation.honest import EVER, LABELS, LATELY, SQUARES, SUM, bounds, new_sums

TRUE_NEGATIVES, FALSE_POSITIVES, FALSE_NEGATIVES, TRUE_POSITIVES = range(4)
NO_LABEL = "no label of a chosen item yet"
NO_CLASS = "no {} among the labels of chosen items yet"


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate with its 95% interval and the effective number of labels; None with the reason if it is not known.

    `labels` is Kish's: as many labels of equal weight would be as precise if verdicts did not depend on the weights.
    """

    value: float | None
    low: float | None
    high: float | None
    labels: float
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class HonestRates:
    """The rates of one window. `labels` are those of chosen items, `items` how many they stand for."""

    labels: float
    items: float
    balanced_accuracy: Rate
    sensitivity: Rate
    specificity: Rate
    precision: Rate
    flagged: Rate


@dataclass(frozen=True, slots=True)
class HonestFigures:
    """Since the start, and lately."""

    ever: HonestRates
    lately: HonestRates


def figures(counts: HonestCounts) -> HonestFigures:
    """Return the figures of a state."""
    sums = new_sums() if counts.sums is None else counts.sums
    return HonestFigures(rates_of(sums[EVER]), rates_of(sums[LATELY]))


def rates_of(cells: Floats) -> HonestRates:
    """Return the rates of four cells, as `kernels/evaluation/honest.py` has them."""
    left, flagged = cells[TRUE_NEGATIVES] + cells[FALSE_NEGATIVES], cells[FALSE_POSITIVES] + cells[TRUE_POSITIVES]
    unseen_left, unseen_flagged = (_unseen(column if column[SUM] else left + flagged) for column in (left, flagged))

    def rate(part: int, rest: int, missing: str) -> Rate:
        unseen_part, unseen_rest = (unseen_flagged if cell % 2 else unseen_left for cell in (part, rest))
        reason = NO_CLASS.format(missing) if cells.any() else NO_LABEL
        return share(cells[part], cells[rest], unseen_part, unseen_rest, reason)

    sensitivity = rate(TRUE_POSITIVES, FALSE_NEGATIVES, "anomaly")
    specificity = rate(TRUE_NEGATIVES, FALSE_POSITIVES, "normal item")
    return HonestRates(
        labels=float(cells[:, LABELS].sum()),
        items=float(cells[:, SUM].sum()),
        balanced_accuracy=mean_of(sensitivity, specificity),
        sensitivity=sensitivity,
        specificity=specificity,
        precision=rate(TRUE_POSITIVES, FALSE_POSITIVES, "flagged item"),
        flagged=share(flagged, left, unseen_flagged, unseen_left, NO_LABEL),
    )


def share(part: Floats, rest: Floats, unseen_part: Floats, unseen_rest: Floats, missing: str) -> Rate:
    """Return part / (part + rest), two sums as `kernels/evaluation/honest.py` has them; `missing` if both are 0."""
    total = float(part[SUM] + rest[SUM])
    if total <= 0.0:
        return Rate(None, None, None, 0.0, missing)
    ends = np.empty(2)
    bounds(part, rest, unseen_part, unseen_rest, ends)
    low, high = ends.tolist()
    return Rate(float(part[SUM]) / total, low, high, total * total / float(part[SQUARES] + rest[SQUARES]))


def mean_of(first: Rate, second: Rate) -> Rate:
    """Return the mean of two rates of different labels; its interval follows from theirs (MOVER)."""
    if first.value is None or second.value is None:
        return Rate(None, None, None, 0.0, first.reason or second.reason)
    assert first.low is not None and second.low is not None  # noqa: PT018 - known together with the values
    assert first.high is not None and second.high is not None  # noqa: PT018 - known together with the values
    value = 0.5 * (first.value + second.value)
    below = 0.5 * math.hypot(first.value - first.low, second.value - second.low)
    above = 0.5 * math.hypot(first.high - first.value, second.high - second.value)
    labels = 4.0 / (1.0 / first.labels + 1.0 / second.labels)
    return Rate(value, max(value - below, 0.0), min(value + above, 1.0), labels)


def complement(rate: Rate) -> Rate:
    """Return 1 - rate."""
    if rate.value is None or rate.low is None or rate.high is None:
        return rate
    return Rate(1.0 - rate.value, 1.0 - rate.high, 1.0 - rate.low, rate.labels)


def _unseen(cell: Floats) -> Floats:
    """Return what the label of an item that was not seen would add: the mean weight of the items behind some labels."""
    weight = float(cell[SQUARES] / cell[SUM]) if cell[SUM] else 1.0
    return np.array([1.0, weight, weight * (weight - 1.0), weight * weight])
