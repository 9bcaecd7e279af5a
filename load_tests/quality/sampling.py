"""Which examples of a stream are taken: so few anomalies that they are 1 in 100, and places to start in the middle."""

import numpy as np

from kernels.arrays import Floats, Ints

NEGATIVES_PER_POSITIVE = 99


def rare(labels: Floats, seed: int) -> Ints:
    """All normal examples and as many anomalies, at random, as make 1 in 100 of the whole; the order is kept."""
    positives, negatives = np.flatnonzero(labels > 0.0), np.flatnonzero(labels <= 0.0)
    count = min(round(negatives.size / NEGATIVES_PER_POSITIVE), positives.size)
    chosen = np.random.default_rng(seed).choice(positives, count, replace=False)
    return np.sort(np.concatenate([chosen, negatives])).astype(np.int64)


def starts(examples: int, window: int, count: int, seed: int) -> Ints:
    """Random places at which a window of the stream begins, ascending; all at 0 if it has no room to move."""
    room = max(examples - window, 0) + 1
    return np.sort(np.random.default_rng(seed).integers(0, room, count))
