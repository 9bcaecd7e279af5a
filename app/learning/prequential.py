"""Prequential (test-then-train) accuracy: every label first tests the verdict of the model, which then learns it.

Labels of items that the review policy chose are also counted by the probability of the choice.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from app.learning.config import Config, Target
from app.learning.drift import Drift, drift_of
from app.learning.events import FeedbackGiven
from app.learning.parts.confusion import Confusion
from kernels.arrays import Bytes, Floats, Ints
from kernels.evaluation import calibration, curve, honest
from kernels.evaluation.confusion import count, count_one
from kernels.evaluation.drift import new_detectors

WINDOW = 1000  # examples in the sliding window
FADING = 0.999  # factor per example by which earlier examples fade
CELL = 3  # the last of the four cells of `kernels/evaluation/confusion.py`
Objective = tuple[int, float, float]  # as the kernel takes it, with the costs of a missed anomaly and a false alarm
LEAST_PROBABILITY = 1e-9  # of an event; no policy chooses so rarely
NO_TARGET: Target = (curve.NO_TARGET, 0.0)
MOST_COUNTED = 1 << 52  # well below 2**53, where floats, and Redis, stop counting exactly


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

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        return sum(array.nbytes for array in self.arrays())

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


@dataclass(slots=True)
class Prequential:
    """Running counts: since the start, over the last WINDOW examples, and fading.

    `answers` counts the verdicts that were served at prediction time; `detectors` look for drift in the errors of each
    class; `histograms` of the scores serve to find a threshold that is best for the objective, if there is one;
    `honest` counts the labels of items that the review policy chose, and has the threshold for a target.
    """

    total: Ints = field(default_factory=lambda: np.zeros(4, np.int64))
    window: Ints = field(default_factory=lambda: np.zeros(4, np.int64))
    faded: Floats = field(default_factory=lambda: np.zeros(4))
    ring: Bytes = field(default_factory=lambda: np.zeros(WINDOW, np.uint8))
    answers: Ints = field(default_factory=lambda: np.zeros(4, np.int64))
    detectors: Ints = field(default_factory=new_detectors)
    histograms: Floats | None = None
    objective: Objective | None = None
    honest: HonestCounts = field(default_factory=HonestCounts)

    def record(
        self,
        labels: Floats,
        scores: Floats,
        threshold: float | None,
        chosen_with: Floats | None = None,
        reviews: Reviews | None = None,
    ) -> Floats:
        """Count the verdicts of these scores; return the threshold of each. Without a given one, it is learnt.

        `chosen_with` are the probabilities with which they were chosen for review, 0 for those that were not; `reviews`
        also says what was served.
        """
        thresholds = np.full(labels.size, threshold or 0.0)
        if self.histograms is not None and self.objective is not None:
            learnt = thresholds if threshold is None else np.empty(labels.size)
            chosen = np.zeros(labels.size) if chosen_with is None else chosen_with
            calibration.observe_all(self.histograms, labels, scores, *self.objective, chosen, learnt)
        if reviews is not None:
            self.honest.record(labels, scores, reviews, thresholds)
        count(self.total, self.window, self.faded, self.ring, self.detectors, labels, scores, thresholds, FADING)
        return thresholds

    def record_one(self, label: float, score: float, threshold: float, chosen_with: float | None = None) -> None:
        """Count one verdict, as `record` does."""
        count_one(self.total, self.window, self.faded, self.ring, self.detectors, label, score, threshold, FADING)
        if self.histograms is not None and self.objective is not None:
            calibration.observe(self.histograms, label, score, *self.objective, chosen_with or 0.0)

    def record_served(self, labels: Iterable[tuple[int, int]]) -> None:
        """Count served verdicts, given as pairs of label and served label."""
        for label, served in labels:
            self.answers[2 * (label > 0) + (served > 0)] += 1

    def restore(self, counts: Sequence[Sequence[float]], served: Sequence[int], ring: bytes) -> None:
        """Restore the counts of a snapshot; ValueError if they are inconsistent.

        The kernel trusts the cells in the ring: another number would make it write out of bounds.
        """
        total, window, faded, answers = (np.array(each, np.float64) for each in (*counts, served))
        cells = np.frombuffer(ring, np.uint8)
        if cells.size != WINDOW or cells.max() > CELL:
            raise ValueError("its window of verdicts is invalid")
        for each in (total, window, faded, answers):
            if each.shape != (4,) or not ((each >= 0.0) & (each <= MOST_COUNTED)).all():
                raise ValueError("its counts are out of range")
        if (np.bincount(cells[: int(min(total.sum(), WINDOW))], minlength=4) != window).any():
            raise ValueError("its counts are inconsistent")
        self.total[:], self.window[:], self.faded[:] = total, window, faded
        self.answers[:], self.ring[:] = answers, cells

    def arrays(self) -> tuple[Ints | Floats | Bytes, ...]:
        """Return all counts in the order of the digest.

        Detectors without observations are left out, so that a snapshot from before they existed keeps its digest.
        """
        counts = (self.total, self.window, self.faded, self.ring, self.answers)
        detectors = (self.detectors,) if self.detectors.any() else ()
        histograms = () if self.histograms is None else (self.histograms,)
        return (*counts, *detectors, *histograms, *self.honest.arrays())

    def copy(self) -> "Prequential":
        """Copy the counts."""
        return Prequential(
            self.total.copy(),
            self.window.copy(),
            self.faded.copy(),
            self.ring.copy(),
            self.answers.copy(),
            self.detectors.copy(),
            None if self.histograms is None else self.histograms.copy(),
            self.objective,
            self.honest.copy(),
        )

    @property
    def nbytes(self) -> int:
        """Memory of what not every tenant has."""
        return self.honest.nbytes + (0 if self.histograms is None else self.histograms.nbytes)

    @property
    def best_threshold(self) -> float:
        """The threshold that is best for the objective."""
        return 0.0 if self.histograms is None else self.histograms.item(calibration.THRESHOLD)

    @property
    def drift(self) -> Drift:
        """The drift found so far."""
        return drift_of(self.detectors)

    @property
    def served(self) -> Confusion:
        """Counts of served verdicts since the start."""
        return Confusion(*self.answers.tolist())

    @property
    def lifetime(self) -> Confusion:
        """Counts since the start."""
        return Confusion(*self.total.tolist())

    @property
    def recent(self) -> Confusion:
        """Counts over the sliding window."""
        return Confusion(*self.window.tolist())

    @property
    def fading(self) -> Confusion:
        """Counts with exponential fading."""
        return Confusion(*self.faded.tolist())


def objective_of(config: Config) -> Objective:
    """Return what the threshold shall be best for."""
    positive, negative = (float(config.values.get(name) or 1.0) for name in ("cost_positive", "cost_negative"))
    return calibration.OBJECTIVES.index(str(config.values["objective"])), positive, negative
