"""Where to start in the middle of a stream."""

import numpy as np

from kernels.arrays import Ints


def starts(examples: int, window: int, count: int, seed: int) -> Ints:
    """Random places at which a window of the stream begins, ascending; all at 0 if it has no room to move."""
    room = max(examples - window, 0) + 1
    return np.sort(np.random.default_rng(seed).integers(0, room, count))
