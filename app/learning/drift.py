"""Drift: changes in the error rate of a class, as found by the detectors of `kernels/evaluation/drift.py`."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernels.arrays import Ints
from kernels.evaluation import drift as detector


@dataclass(frozen=True, slots=True)
class ClassDrift:
    """Changes found in the error rate of one class, and the current window: about the labels since the last change."""

    worse: int
    better: int
    labels: int
    error: float | None  # None without labels
    last_worse_at: int | None  # labels of both classes when the last change for the worse was found


@dataclass(frozen=True, slots=True)
class Drift:
    """Both classes: rising error on anomalies means missed anomalies, on normal examples false alarms."""

    anomaly: ClassDrift
    normal: ClassDrift


def drift_of(detectors: Ints) -> Drift:
    """Return what the detectors have found."""
    return Drift(_class_drift(detectors[detector.ANOMALY]), _class_drift(detectors[detector.NORMAL]))


def encode_detectors(detectors: Ints) -> list[list[int]]:
    """Return the detectors as stored in a snapshot: an empty list before the first label."""
    return detectors.tolist() if detectors.any() else []


def decode_detectors(lines: Sequence[Sequence[int]]) -> Ints:
    """Rebuild the detectors of a snapshot; ValueError if they are inconsistent.

    The kernel trusts the number of buckets in a row: a wrong one would make it write out of bounds.
    """
    detectors = detector.new_detectors()
    if not lines:
        return detectors
    detectors[:] = lines
    rows = detectors[:, detector.HISTOGRAM :].reshape(2, detector.ROWS, detector.ROW)
    used, errors = rows[:, :, :1], rows[:, :, 1:]
    sizes = np.where(np.arange(detector.ROW - 1) < used, 1 << np.arange(detector.ROWS)[:, None], 0)
    consistent = (
        np.all((used >= 0) & (used <= detector.MOST))
        and np.all((errors >= 0) & (errors <= sizes))
        and np.array_equal(sizes.sum((1, 2)), detectors[:, detector.LABELS])
        and np.array_equal(errors.sum((1, 2)), detectors[:, detector.ERRORS])
    )
    if not consistent:
        raise ValueError("its drift detectors are inconsistent")
    return detectors


def _class_drift(row: Ints) -> ClassDrift:
    counts: list[int] = row[: detector.HISTOGRAM].tolist()
    _, labels, errors, worse, better, last_worse = counts
    return ClassDrift(worse, better, labels, errors / labels if labels else None, last_worse or None)
