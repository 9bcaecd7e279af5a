"""A stored table is checked before it is restored: kernels do not check, and would leave the bounds of a bad one."""

import numpy as np

from app.learning.prequential import MOST_COUNTED
from kernels.arrays import Floats
from kernels.learner import totals
from kernels.table.rows import LEAST_BITS, spare

MOST_BITS = 32
SMALL_BITS = 16  # a table up to this size takes little memory
SPARSEST = 16  # most home slots per feature in a larger table: growing leaves at most 8, removing at most 5


def check_model(tally: Floats, rows: Floats, dense: Floats, *, numbered: bool) -> None:
    """Reject arrays that would lead a kernel out of bounds or waste memory: kernels do not check."""
    if tally.size != totals.SIZE or not all(np.isfinite(array).all() for array in (tally, rows[:, 1:], dense)):
        raise ValueError("its scalars have the wrong number, or some numbers are not finite")
    counted = tally[[totals.STEP, totals.POSITIVES, totals.NEGATIVES, totals.DROPPED]]
    if not ((counted >= 0.0) & (counted <= MOST_COUNTED)).all() or not 0.0 < tally[totals.SCALE] <= 1.0:
        raise ValueError("its counts are out of range")
    if tally[totals.FEATURES] != len(rows):
        raise ValueError("the size of its table is invalid")
    check_rows(float(tally[totals.BITS]), rows)
    in_order = (np.sort(rows[:, 1]) == np.arange(len(rows))).all()
    belongs = len(rows) <= len(dense.T) and in_order if numbered else not dense.size
    if not belongs:
        raise ValueError("its matrix does not fit its rows")


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
