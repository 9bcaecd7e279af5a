"""Counts of the labels of items that the review policy chose, weighted by the probability of the choice."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from app.learning.config import Target
from app.learning.events import FeedbackGiven
from kernels.arrays import Floats
from kernels.evaluation import curve, honest

LEAST_PROBABILITY = 1e-9  # of an event; no policy chooses so rarely
NO_TARGET: Target = (curve.NO_TARGET, 0.0)


class Reviews(NamedTuple):
    """What some labels say about the choice of their items, and what was served for them."""

    weights: Floats  # 1 / p; 0 if the item was not chosen
    scores: Floats
    verdicts: Floats  # 0 if unknown
    times: Floats  # milliseconds; 0 if unknown

    @staticmethod
    def unknown(count: int) -> "Reviews":
        """Return that nothing is known of so many labels."""
        return Reviews(*np.zeros((4, count)))


def reviews_of(events: Sequence[FeedbackGiven]) -> Reviews:
    """Return these facts of feedback events. A choice without a served verdict counts for nothing."""
    reviews = Reviews.unknown(len(events))
    for i, event in enumerate(events):
        if event.served is not None:
            reviews.weights[i] = 0.0 if event.chosen_with is None else 1.0 / max(event.chosen_with, LEAST_PROBABILITY)
            reviews.scores[i], reviews.verdicts[i] = event.served.score, event.served.label
            reviews.times[i] = event.served_at_milliseconds or 0
    return reviews


def chosen_labels(events: Sequence[FeedbackGiven]) -> bool:
    """Tell whether a label of a chosen item is among these."""
    return any(event.chosen_with is not None and event.served is not None for event in events)


@dataclass(slots=True)
class HonestCounts:
    """Weighted sums of the verdicts on chosen items, and weighted histograms of their scores.

    Without a label of a chosen item there are no sums, and without a target no histograms: earlier logs have neither.
    """

    sums: Floats | None = None
    histograms: Floats | None = None
    target: Target = NO_TARGET

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to count, unless a label of a chosen item comes."""
        return self.sums is None and self.histograms is None

    @property
    def threshold(self) -> float | None:
        """The threshold for the target; None without one, or until it can be known."""
        data = self.histograms
        if data is None or self.target == NO_TARGET or not data[curve.IS_SET]:
            return None
        return data.item(curve.THRESHOLD)

    @property
    def is_weighted(self) -> bool:
        """Whether the histograms are of chosen items."""
        return self.histograms is not None and bool(self.histograms[curve.IS_WEIGHTED])

    def follow(self, target: Target, *, is_new: bool) -> None:
        """Follow a target from now on, or none. The scores of another model have no meaning for a new one."""
        is_other = target != self.target
        self.target = target
        if target == NO_TARGET and not self.is_weighted:
            self.histograms = None
        elif self.histograms is None or is_new:
            was_weighted, self.histograms = self.is_weighted, curve.new_curve()
            self.histograms[curve.IS_WEIGHTED] = was_weighted
        elif is_other:
            self.histograms[curve.IS_SET], self.histograms[curve.LEVEL] = 0.0, 0.0
            curve.choose(self.histograms, *target)

    def record(self, labels: Floats, scores: Floats, reviews: Reviews, thresholds: Floats) -> None:
        """Count labels in order; with a target, put in the thresholds that were in force."""
        chosen = np.flatnonzero(reviews.weights)
        if chosen.size:
            self._begin()
        if self.sums is not None:
            for i in chosen.tolist():
                honest.add(self.sums, labels[i], reviews.verdicts[i], reviews.weights[i])
        if self.histograms is not None:
            curve.observe_all(self.histograms, labels, scores, *reviews, *self.target, thresholds)

    def record_one(self, event: FeedbackGiven, score: float, threshold: float) -> None:
        """Count one label, as `record` does."""
        if not self.is_empty or chosen_labels([event]):
            self.record(np.array([float(event.label)]), np.array([score]), reviews_of([event]), np.array([threshold]))

    def _begin(self) -> None:
        if self.sums is None:
            self.sums = honest.new_sums()
        if self.histograms is None:
            self.histograms = curve.new_curve()

    def arrays(self) -> tuple[Floats, ...]:
        """Return what belongs to the digest: nothing while there is nothing."""
        return tuple(array for array in (self.sums, self.histograms) if array is not None)

    def copy(self) -> "HonestCounts":
        """Copy the counts."""
        sums, histograms = (None if array is None else array.copy() for array in (self.sums, self.histograms))
        return HonestCounts(sums, histograms, self.target)


def encode_honest(counts: HonestCounts) -> list[bytes]:
    """Return the sums and the histograms as stored in a snapshot; nothing while there is nothing."""
    if counts.is_empty:
        return []
    return [b"" if array is None else array.tobytes() for array in (counts.sums, counts.histograms)]


def decode_honest(counts: HonestCounts, stored: Sequence[bytes | memoryview]) -> None:
    """Put the counts of a snapshot into those of a new state; ValueError if they are inconsistent."""
    if len(stored) not in {0, 2}:
        raise ValueError("its honest counts are incomplete")
    sums, histograms = (np.frombuffer(data).copy() for data in stored or (b"", b""))
    if sums.size not in {0, honest.new_sums().size} or not (np.isfinite(sums).all() and (sums >= 0.0).all()):
        raise ValueError("its honest counts are invalid")
    if histograms.size:
        _check_histograms(histograms)
    counts.sums = sums.reshape(honest.new_sums().shape) if sums.size else None
    counts.histograms = histograms if histograms.size else None
    if counts.target != NO_TARGET and counts.histograms is None:
        raise ValueError("its histograms for the target are missing")


def _check_histograms(data: Floats) -> None:
    if data.size != curve.SIZE or not np.isfinite(data).all():
        raise ValueError("its weighted histograms have the wrong size, or some numbers are not finite")
    scale, weights = float(data[curve.SCALE]), data[curve.WEIGHT : curve.FADED]
    flags = data[[curve.IS_SET, curve.IS_WEIGHTED]]
    if (
        not curve.LEAST_SCALE <= scale <= curve.LARGEST_SCALE
        or math.frexp(scale)[0] != 0.5  # noqa: PLR2004 - a power of two
        or abs(data[curve.LEVEL]) > curve.MOST_LEVEL
        or not np.isin(flags, (0.0, 1.0)).all()
        or (weights < 1.0).any()
        or (weights > curve.LARGEST_WEIGHT).any()
        or (data[curve.LATEST :] < 0.0).any()
    ):
        raise ValueError("its weighted histograms are inconsistent")
