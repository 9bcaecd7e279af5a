"""A stored table is checked before it is restored: kernels do not check, and would leave the bounds of a bad one."""

import numpy as np

from kernels.arrays import Floats
from kernels.table.rows import LEAST_BITS, spare

MOST_BITS = 32
SMALL_BITS = 16  # a table up to this size takes little memory
SPARSEST = 16  # most home slots per feature in a larger table: growing leaves at most 8, removing at most 5


def check_rows(bits: float, rows: Floats) -> None:
    """Raise ValueError if rows cannot be those of a table with 2^bits home slots, in its order."""
    if bits not in range(LEAST_BITS, MOST_BITS + 1):
        raise ValueError("the size of its table is invalid")
    if bits > SMALL_BITS and 1 << int(bits) > SPARSEST * len(rows):
        raise ValueError("its table is far larger than its features need")
    order = ~np.ascontiguousarray(rows[:, 0]).view(np.uint64)
    count = np.arange(len(rows))
    places = np.maximum.accumulate((order >> np.uint64(64 - int(bits))).astype(np.int64) - count) + count
    if (order[:-1] >= order[1:]).any() or (~order == 0).any() or (places >= (1 << int(bits)) + spare(int(bits))).any():
        raise ValueError("its rows are not in order")
