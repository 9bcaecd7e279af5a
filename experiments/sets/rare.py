"""Anomalies made as rare as they are: 1 in 100, as in the paper's URL2 and WEBSPAM2."""

from typing import Final

import numpy as np

from kernels.arrays import Floats, Ints

NEGATIVES_PER_POSITIVE: Final = 99


def rare(labels: Floats, seed: int) -> Ints:
    """All normal examples and as many anomalies, at random, as make 1 in 100 of the whole; the order is kept."""
    positives, negatives = np.flatnonzero(labels > 0.0), np.flatnonzero(labels <= 0.0)
    count = min(round(negatives.size / NEGATIVES_PER_POSITIVE), positives.size)
    chosen = np.random.default_rng(seed).choice(positives, count, replace=False)
    return np.sort(np.concatenate([chosen, negatives])).astype(np.int64)
