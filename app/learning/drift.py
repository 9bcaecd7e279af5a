"""Drift: whether the error rate of a class has changed, as the detectors of `kernels/evaluation/drift.py` see it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernels.arrays import Ints
from kernels.evaluation import drift as place


@dataclass(frozen=True, slots=True)
class ClassDrift:
    """The changes found in the error rate of one class, and its present window: the labels since about the last one."""

    worse: int
    better: int
    labels: int
    error: float | None  # None without labels
    last_worse_at: int | None  # labelled examples, of both classes, when the last change to the worse was found


@dataclass(frozen=True, slots=True)
class Drift:
    """Both classes: a rising error on anomalies is missed anomalies, one on the normal is false alarms."""

    anomaly: ClassDrift
    normal: ClassDrift


def drift_of(detectors: Ints) -> Drift:
    """What the detectors have found."""
    return Drift(_class_drift(detectors[place.ANOMALY]), _class_drift(detectors[place.NORMAL]))


def told(detectors: Ints) -> list[list[int]]:
    """The detectors as a snapshot tells them: nothing, if they have seen nothing."""
    return detectors.tolist() if detectors.any() else []


def detectors_of(lines: Sequence[Sequence[int]]) -> Ints:
    """The detectors that a snapshot tells of; ValueError if there can be no such ones.

    A kernel trusts the number of buckets in a row: a false one would make it write elsewhere.
    """
    detectors = place.new_detectors()
    if not lines:
        return detectors
    detectors[:] = lines
    rows = detectors[:, place.HISTOGRAM :].reshape(2, place.ROWS, place.ROW)
    used, errors = rows[:, :, :1], rows[:, :, 1:]
    sizes = np.where(np.arange(place.ROW - 1) < used, 1 << np.arange(place.ROWS)[:, None], 0)
    sound = (
        np.all((used >= 0) & (used <= place.MOST))
        and np.all((errors >= 0) & (errors <= sizes))
        and np.array_equal(sizes.sum((1, 2)), detectors[:, place.LABELS])
        and np.array_equal(errors.sum((1, 2)), detectors[:, place.ERRORS])
    )
    if not sound:
        raise ValueError("its drift detectors contradict themselves")
    return detectors


def _class_drift(detector: Ints) -> ClassDrift:
    figures: list[int] = detector[: place.HISTOGRAM].tolist()
    _, labels, errors, worse, better, last_worse = figures
    return ClassDrift(worse, better, labels, errors / labels if labels else None, last_worse or None)
