"""Calibration: the histograms of scores from which the threshold and probabilities of a tenant follow."""

import math

import numpy as np

from app.learning.config import Config
from kernels.arrays import Floats
from kernels.evaluation import calibration as kernel

LEAST_LABELS = 30  # of each class, before a probability is given

Objective = tuple[int, float, float]  # as the kernel takes it, with the costs of a missed anomaly and a false alarm


def objective_of(config: Config) -> Objective:
    """Return what the threshold shall be best for."""
    positive, negative = (float(config.values.get(name) or 1.0) for name in ("cost_positive", "cost_negative"))
    return kernel.OBJECTIVES.index(str(config.values["objective"])), positive, negative


def decode_histograms(stored: bytes) -> Floats:
    """Rebuild the histograms of a snapshot; ValueError if they are inconsistent."""
    histograms = np.frombuffer(stored).copy()
    if histograms.size != kernel.SIZE or not np.isfinite(histograms).all():
        raise ValueError("its calibration has the wrong size, or some numbers are not finite")
    scale, weights = float(histograms[kernel.SCALE]), histograms[kernel.WEIGHT : kernel.MASS]
    counts = np.concatenate([histograms[kernel.CHANGED : kernel.WEIGHT], histograms[kernel.MASS :]])
    if (
        not kernel.LEAST_SCALE <= scale <= kernel.LARGEST_SCALE
        or math.frexp(scale)[0] != 0.5  # noqa: PLR2004 - a power of two
        or (weights < 1.0).any()
        or (weights > kernel.LARGEST_WEIGHT).any()
        or (counts < 0.0).any()
    ):
        raise ValueError("its calibration is inconsistent")
    return histograms
