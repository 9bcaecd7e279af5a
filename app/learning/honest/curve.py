"""Curves: the rates at every threshold, and how well the target is met."""

from dataclasses import dataclass

import numpy as np

from app.learning.honest.figures import NO_LABEL, HonestFigures, Rate, complement, figures, share
from app.learning.prequential import NO_TARGET
from app.learning.state import TenantState
from kernels.arrays import Floats
from kernels.evaluation import calibration
from kernels.evaluation.curve import (
    BINS,
    DAY,
    EDGE,
    FALSE_POSITIVE_RATE,
    LEAST_LABELS,
    PER_UNIT,
    PRECISION,
    REVIEWS_PER_DAY,
    SCALE,
    SEEN,
    SENSITIVITY,
    SERVED,
    SPAN,
    TARGETS,
    fill_densities,
)

NO_SCORES = "no label of a chosen item yet; other labels are used if there is an objective or a target"


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """The rates of the verdicts if this were the threshold."""

    threshold: float
    sensitivity: Rate
    specificity: Rate
    precision: Rate
    flagged: Rate


@dataclass(frozen=True, slots=True)
class Curve:
    """Points by rising threshold; None with the reason if no scores are kept. `now` is at the threshold in force.

    `weighted` says whether the labels are those of chosen items, each weighted. If not, the curve is that of the labels
    as they came. `anomalies` and `normal` are how many labels of each class were counted.
    """

    threshold: float
    weighted: bool
    anomalies: int
    normal: int
    now: CurvePoint | None
    points: list[CurvePoint] | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class TargetFigures:
    """A target, whether the threshold follows it already, and the rate of the verdicts that were served lately."""

    name: str
    value: float
    followed: bool
    reason: str | None
    realised: Rate


def curve_of(state: TenantState, points: int) -> Curve:
    """Return the curve of a state at so many thresholds, or fewer: at most one for each bin of scores."""
    found = _densities(state)
    if found is None:
        return Curve(
            state.model.threshold, weighted=False, anomalies=0, normal=0, now=None, points=None, reason=NO_SCORES
        )
    densities, scale, seen = found
    weighted = state.prequential.honest.is_weighted
    used = np.flatnonzero(densities[:2].sum(0))
    count = min(points, int(used[-1] - used[0]) + 2)
    places = np.unique(np.linspace(used[0], used[-1] + 1, count).round()).tolist()
    place_now = (state.model.threshold / scale + EDGE) * PER_UNIT
    tails = _Tails(densities, scale)
    return Curve(
        state.model.threshold, weighted, seen[1], seen[0], tails.at(place_now), [tails.at(place) for place in places]
    )


def target_of(state: TenantState) -> TargetFigures | None:
    """Return how well the target is met; None without one."""
    counts = state.prequential.honest
    if counts.target == NO_TARGET:
        return None
    kind, value = counts.target
    followed = counts.threshold is not None
    return TargetFigures(
        TARGETS[kind], value, followed, None if followed else _missing(state, kind), _realised(state, figures(counts))
    )


class _Tails:
    """Sums over the bins from the top: what lies above each boundary, and below."""

    def __init__(self, densities: Floats, scale: float) -> None:
        self._scale = scale
        self._sums = np.zeros((4, BINS + 1))
        self._sums[:, :BINS] = densities[:, ::-1].cumsum(1)[:, ::-1]

    def at(self, place: float) -> CurvePoint:
        """Return the rates at a place in bins; within a bin it is interpolated."""
        place = min(max(place, 0.0), float(BINS))
        low, part = int(place), place - int(place)
        above = (1.0 - part) * self._sums[:, low] + part * self._sums[:, min(low + 1, BINS)]
        below = self._sums[:, 0] - above
        alarms, found, left, missed = (
            np.array([0.0, cell[0], cell[1], cell[1]])
            for cell in (above[[0, 2]], above[[1, 3]], below[[0, 2]], below[[1, 3]])
        )
        unseen_flagged, unseen_left = (
            _unseen(one if one[1] else alarms + found + left + missed) for one in (alarms + found, left + missed)
        )
        return CurvePoint(
            self._scale * (place / PER_UNIT - EDGE),
            share(found, missed, unseen_flagged, unseen_left, "no anomaly among the labels yet"),
            share(left, alarms, unseen_left, unseen_flagged, "no normal item among the labels yet"),
            share(found, alarms, unseen_flagged, unseen_flagged, "no label above this threshold"),
            share(found + alarms, left + missed, unseen_flagged, unseen_left, NO_LABEL),
        )


def _unseen(cell: Floats) -> Floats:
    """Return what one more label would add: here labels are a sample of all that could come."""
    weight = float(cell[3] / cell[1])
    return np.array([1.0, weight, weight * weight, weight * weight])


def _densities(state: TenantState) -> tuple[Floats, float, tuple[int, int]] | None:
    """Return items by class and bin and the sums of their squared weights, the scale, and the labels of each class."""
    data, densities = state.prequential.honest.histograms, np.zeros((4, BINS))
    if data is not None and data[SEEN : SEEN + 2].any():
        fill_densities(data, densities)
        return densities, data.item(SCALE), (int(data[SEEN]), int(data[SEEN + 1]))
    data = state.prequential.histograms
    if data is None or not data[calibration.SEEN : calibration.SEEN + 2].any():
        return None
    anomalies = data.item(calibration.ANOMALIES)
    for c, mass in enumerate((data.item(calibration.LABELS) - anomalies, anomalies)):
        place = calibration.HEAD + c * BINS
        total = data[place : place + BINS].sum()
        if total > 0.0:
            densities[c] = mass / total * data[place : place + BINS]
            number = total / data[calibration.WEIGHT + c]  # of labels: with equal weights a mean counts so many
            densities[2 + c] = densities[c] * mass / number
    return densities, data.item(calibration.SCALE), (int(data[calibration.SEEN]), int(data[calibration.SEEN + 1]))


def _realised(state: TenantState, found: HonestFigures) -> Rate:
    rates = found.lately
    kind = state.prequential.honest.target[0]
    if kind == REVIEWS_PER_DAY:
        data = state.prequential.honest.histograms
        assert data is not None  # there is a target
        if rates.flagged.value is None or not data[SPAN]:
            return Rate(None, None, None, 0.0, rates.flagged.reason or NO_LABEL)
        each_day = DAY * data.item(SERVED) / data.item(SPAN)
        low, high = rates.flagged.low or 0.0, rates.flagged.high or 0.0
        return Rate(each_day * rates.flagged.value, each_day * low, each_day * high, rates.flagged.labels)
    return {
        FALSE_POSITIVE_RATE: complement(rates.specificity), SENSITIVITY: rates.sensitivity, PRECISION: rates.precision
    }[kind]  # fmt: skip


def _missing(state: TenantState, kind: int) -> str:
    """Return why the threshold does not follow the target yet."""
    counts = state.prequential.honest
    data = counts.histograms
    assert data is not None  # there is a target
    if kind == REVIEWS_PER_DAY and not counts.is_weighted:
        return f"{NO_LABEL}, so the number of items per day is unknown"
    normal, anomalies = data[SEEN : SEEN + 2].astype(int).tolist()
    return (
        f"there are {anomalies:,} labels of anomalies and {normal:,} of normal items; "
        f"{LEAST_LABELS} of each class that matters are needed"
    )
