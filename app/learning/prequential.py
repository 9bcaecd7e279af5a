"""Prequential (test-then-train) accuracy: every label first tests the verdict of the model, which then learns it."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from app.learning.config import Config
from app.learning.drift import Drift, drift_of
from app.learning.honest.counts import HonestCounts, Reviews
from kernels.arrays import Bytes, Floats, Ints
from kernels.evaluation import calibration
from kernels.evaluation.confusion import count, count_one
from kernels.evaluation.drift import new_detectors

WINDOW = 1000  # examples in the sliding window
FADING = 0.999  # factor per example by which earlier examples fade
CELL = 3  # the last of the four cells of `kernels/evaluation/confusion.py`
Objective = tuple[int, float, float]  # as the kernel takes it, with the costs of a missed anomaly and a false alarm
MOST_COUNTED = 1 << 52  # well below 2**53, where floats, and Redis, stop counting exactly


@dataclass(frozen=True, slots=True)
class Confusion:
    """A confusion matrix. Rates are None until they are defined: no observation is not a bad rate."""

    true_negatives: float
    false_positives: float
    false_negatives: float
    true_positives: float

    @property
    def examples(self) -> float:
        """All examples."""
        return self.positives + self.negatives

    @property
    def positives(self) -> float:
        """Examples labelled 1: T+ in the paper."""
        return self.true_positives + self.false_negatives

    @property
    def negatives(self) -> float:
        """Examples labelled -1: T- in the paper."""
        return self.true_negatives + self.false_positives

    @property
    def error(self) -> float | None:
        """Share of wrong verdicts."""
        return _ratio(self.false_positives + self.false_negatives, self.examples)

    @property
    def sensitivity(self) -> float | None:
        """Share of anomalies that were found."""
        return _ratio(self.true_positives, self.positives)

    @property
    def specificity(self) -> float | None:
        """Share of normal examples with a normal verdict."""
        return _ratio(self.true_negatives, self.negatives)

    @property
    def balanced_accuracy(self) -> float | None:
        """Mean of sensitivity and specificity; None until both classes have been seen."""
        return self.weighted_sum(0.5)

    @property
    def balanced_accuracy_margin(self) -> float | None:
        """Half the width of a 95% interval around the balanced accuracy, as if verdicts were independent."""
        sensitivity, specificity = self.sensitivity, self.specificity
        if sensitivity is None or specificity is None:
            return None
        found = sensitivity * (1.0 - sensitivity) / self.positives
        left = specificity * (1.0 - specificity) / self.negatives
        return 1.96 * 0.5 * math.sqrt(found + left)

    def weighted_sum(self, mu_positive: float) -> float | None:
        """Weight sensitivity and specificity as the paper's *sum* does: mu+ sensitivity + mu- specificity."""
        sensitivity, specificity = self.sensitivity, self.specificity
        if sensitivity is None or specificity is None:
            return None
        return mu_positive * sensitivity + (1.0 - mu_positive) * specificity


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

    def record(self, labels: Floats, scores: Floats, threshold: float | None, reviews: Reviews | None = None) -> Floats:
        """Count the verdicts of these scores; return the threshold of each. Without a given one, it is learnt."""
        thresholds = np.full(labels.size, threshold or 0.0)
        if self.histograms is not None and self.objective is not None:
            learnt = thresholds if threshold is None else np.empty(labels.size)
            calibration.observe_all(self.histograms, labels, scores, *self.objective, learnt)
        if reviews is not None:
            self.honest.record(labels, scores, reviews, thresholds)
        count(self.total, self.window, self.faded, self.ring, self.detectors, labels, scores, thresholds, FADING)
        return thresholds

    def record_one(self, label: float, score: float, threshold: float) -> None:
        """Count one verdict, as `record` does."""
        count_one(self.total, self.window, self.faded, self.ring, self.detectors, label, score, threshold, FADING)
        if self.histograms is not None and self.objective is not None:
            calibration.observe(self.histograms, label, score, *self.objective)

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
        arrays = (self.histograms, self.honest.sums, self.honest.histograms)
        return sum(array.nbytes for array in arrays if array is not None)

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


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def objective_of(config: Config) -> Objective:
    """Return what the threshold shall be best for."""
    positive, negative = (float(config.values.get(name) or 1.0) for name in ("cost_positive", "cost_negative"))
    return calibration.OBJECTIVES.index(str(config.values["objective"])), positive, negative


def decode_histograms(stored: bytes) -> Floats:
    """Rebuild the histograms of a snapshot; ValueError if they are inconsistent."""
    histograms = np.frombuffer(stored).copy()
    if histograms.size != calibration.SIZE or not np.isfinite(histograms).all():
        raise ValueError("its calibration has the wrong size, or some numbers are not finite")
    scale, weights = float(histograms[calibration.SCALE]), histograms[calibration.WEIGHT : calibration.MASS]
    counts = np.concatenate([histograms[calibration.CHANGED : calibration.WEIGHT], histograms[calibration.MASS :]])
    if (
        not calibration.LEAST_SCALE <= scale <= calibration.LARGEST_SCALE
        or math.frexp(scale)[0] != 0.5  # noqa: PLR2004 - a power of two
        or (weights < 1.0).any()
        or (weights > calibration.LARGEST_WEIGHT).any()
        or (counts < 0.0).any()
    ):
        raise ValueError("its calibration is inconsistent")
    return histograms
