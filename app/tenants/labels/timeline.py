"""Labels over time: how many there were, how good the served verdicts were, and how long the labels took.

Rates of what the review policy chose are weighted, as `app/learning/honest` does since the start. Nothing here depends
on the clock.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from app.learning.drift import Drift
from app.learning.honest.figures import HonestRates, rates_of
from app.learning.parts.confusion import Confusion
from app.learning.prequential import LEAST_PROBABILITY
from app.tenants.labels.label_history import Columns, LabelHistory
from kernels.arrays import Floats, Ints
from kernels.evaluation.honest import CELLS, LABELS, SQUARES, SUM, VARIANCE, WIDTH

SECOND, MINUTE, HOUR = 1000, 60_000, 3_600_000
DAY: Final = 24 * HOUR
WIDTHS: Final = (
    *(number * SECOND for number in (1, 5, 15, 30)),
    *(number * MINUTE for number in (1, 5, 15, 30)),
    *(number * HOUR for number in (1, 3, 6, 12)),
    *(number * DAY for number in (1, 7, 28, 364)),
)


@dataclass(frozen=True, slots=True)
class Delay:
    """From a prediction to its label, in seconds; None if no label tells."""

    labels: int
    median_seconds: float | None
    p90_seconds: float | None


@dataclass(frozen=True, slots=True)
class Period:
    """The labels of a period that ends before `until`. `served` compares them with the verdicts as answered."""

    since: int
    until: int
    anomalies: int
    normal: int
    served: Confusion
    honest: HonestRates
    delay: Delay


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened: drift to the worse, found among `anomaly` or `normal` labels, or changed `settings`."""

    at_milliseconds: int
    kind: str
    what: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Timeline:
    """Periods of equal width, without gaps, at round times; and the `whole` time that was asked for."""

    version: int
    first_milliseconds: int | None  # of the labels that were looked at
    is_complete: bool  # whether these are all that the log has
    labels: int
    width_milliseconds: int
    whole: Period
    periods: list[Period]
    marks: list[Mark]


class DriftFound(NamedTuple):
    """What the detectors of a state at a version have found, after so many labels."""

    drift: Drift
    version: int
    labels: int


def timeline_of(history: LabelHistory, since: int | None, until: int, most: int, found: DriftFound) -> Timeline:
    """Return at most `most` periods from a time on until another one; by default since the first label."""
    labels = history.labels
    first = int(labels["at"].min()) if labels.size else None
    if since is None:
        since = min(until - DAY if first is None else first, until - 1)
    width = _width(since, until, most)
    begin = since // width * width
    count = -(-(until - begin) // width)
    place = (labels["at"] - begin) // width
    inside = (place >= 0) & (place < count)
    asked = labels[(labels["at"] >= since) & (labels["at"] < until)]
    labels, place = labels[inside], place[inside]
    ends = [(begin + width * k, begin + width * (k + 1)) for k in range(count)]
    return Timeline(
        history.version,
        first,
        history.is_complete,
        history.labels.size,
        width,
        _periods(asked, np.zeros(asked.size, np.int64), [(since, until)])[0],
        _periods(labels, place, ends),
        sorted(
            (mark for mark in _marks(history, found) if begin <= mark.at_milliseconds < ends[-1][1]),
            key=lambda mark: mark.at_milliseconds,
        ),
    )


def _width(since: int, until: int, most: int) -> int:
    """Return the smallest round width with which so many periods reach from one time to the other."""
    width, later = WIDTHS[0], iter(WIDTHS[1:])
    while -(-until // width) - since // width > most:
        width = next(later, 2 * width)
    return width


def _periods(labels: Columns, place: Ints, ends: list[tuple[int, int]]) -> list[Period]:
    count = len(ends)
    is_anomaly = labels["label"] > 0
    given = np.bincount(2 * place + is_anomaly, minlength=2 * count).reshape(count, 2)
    is_served = labels["served"] != 0
    cell = CELLS * place + 2 * is_anomaly + (labels["served"] > 0)
    served = np.bincount(cell[is_served], minlength=CELLS * count).reshape(count, CELLS)
    is_chosen = is_served & (labels["chosen_with"] > 0.0)
    weights = 1.0 / np.maximum(labels["chosen_with"][is_chosen], LEAST_PROBABILITY)
    sums = _sums(cell[is_chosen], weights, count)
    delays = _delays(labels, place, count)
    return [
        Period(*ends[k], int(given[k, 1]), int(given[k, 0]), Confusion(*served[k].tolist()), rates_of(sums[k]), delay)
        for k, delay in enumerate(delays)
    ]


def _sums(cells: Ints, weights: Floats, count: int) -> Floats:
    """Return the sums of `kernels/evaluation/honest.py` for each period, added in the same order."""
    sums = np.empty((count * CELLS, WIDTH))
    sums[:, LABELS] = np.bincount(cells, minlength=count * CELLS)
    for column, terms in ((SUM, weights), (VARIANCE, weights * (weights - 1.0)), (SQUARES, weights * weights)):
        sums[:, column] = np.bincount(cells, terms, count * CELLS)
    return sums.reshape(count, CELLS, WIDTH)


def _delays(labels: Columns, place: Ints, count: int) -> Iterator[Delay]:
    known = labels["served_at"] > 0
    place = place[known]
    seconds = np.maximum(labels["at"][known] - labels["served_at"][known], 0) / 1000.0
    order = np.lexsort((seconds, place))
    ends = np.searchsorted(place[order], np.arange(count + 1))
    for first, last in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        some = seconds[order[first:last]]
        yield Delay(some.size, _quantile(some, 50), _quantile(some, 90))


def _quantile(values: Floats, percent: int) -> float | None:
    """Return the smallest of some sorted values that so many percent do not exceed."""
    return float(values[-(-percent * values.size // 100) - 1]) if values.size else None


def _marks(history: LabelHistory, found: DriftFound) -> Iterator[Mark]:
    for change in history.changes:
        yield Mark(change.at_milliseconds, "settings", change.settings)
    times = history.labels["at"][history.labels["version"] <= found.version]
    for name, drift in (("anomaly", found.drift.anomaly), ("normal", found.drift.normal)):
        if drift.last_worse_at is not None:
            place = times.size - 1 - (found.labels - drift.last_worse_at)  # counted back from the newest label
            if 0 <= place < times.size:
                yield Mark(int(times[place]), "drift", (name,))
