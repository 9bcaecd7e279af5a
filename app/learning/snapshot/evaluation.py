"""Histograms and weighted counts of a state, as bytes in a snapshot."""

import math
from collections.abc import Sequence

import numpy as np

from app.learning.prequential import NO_TARGET, HonestCounts
from kernels.arrays import Floats
from kernels.evaluation import calibration, curve, honest


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
