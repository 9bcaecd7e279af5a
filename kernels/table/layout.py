"""Operations on the whole feature table: lay it out again when it grows or loses rows, and read all rows."""

import numpy as np

from kernels.arrays import Bytes, Floats, Ints, Keys
from kernels.compiler import kernel
from kernels.table.rows import EMPTY, ONE


@kernel
def pack(rows: Floats, width: int, keep: Bytes) -> int:
    """Move the rows in use to the right end, before the sink, in order; return where they begin.

    Row number i in table order is kept if `keep[i]`; an empty `keep` keeps all.
    """
    bits = rows.view(np.uint64)
    w = np.uint64(width)
    end = np.uint64(rows.size) - w
    number = keep.size
    source = end
    while source > np.uint64(0):
        source -= w
        if bits[source] == EMPTY:
            continue
        number -= 1
        if keep.size == 0 or keep[number]:
            end -= w
            for j in range(w):
                bits[end + w - ONE - j] = bits[source + w - ONE - j]
    bits[:end] = EMPTY
    return int(end)


@kernel
def spread(rows: Floats, width: int, first: int, home_bits: int) -> int:
    """Move the packed rows, which begin at `first`, to their slots for 2^home_bits home slots; return the end slot.

    This works in place: no row moves to the right, because all rows after it fit behind it.
    """
    bits = rows.view(np.uint64)
    w = np.uint64(width)
    shift = np.uint64(64) - np.uint64(home_bits)
    end = np.uint64(rows.size) - w
    free = np.uint64(0)
    source = np.uint64(first)
    while source < end:
        place = max(~bits[source] >> shift, free)
        free = place + ONE
        if place * w != source:
            for j in range(w):
                bits[place * w + j] = bits[source + j]
                bits[source + j] = EMPTY
        source += w
    return int(free)


@kernel
def fits(rows: Floats, width: int, home_bits: int, slots: int) -> bool:
    """Tell whether the rows in use, spread over 2^home_bits home slots, fit into `slots`."""
    bits = rows.view(np.uint64)
    shift = np.uint64(64) - np.uint64(home_bits)
    free = np.uint64(0)
    for source in range(0, rows.size, width):
        if bits[source] != EMPTY:
            free = max(~bits[source] >> shift, free) + ONE
    return bool(free <= np.uint64(slots))


@kernel
def copy_rows(rows: Floats, width: int, start: int, packed: Floats) -> int:
    """Copy rows in use, from slot position `start` on, into `packed` until it is full; return where to continue.

    Rows come in key order, from the largest key down. The return value is the table's size when all have been read.
    """
    bits = rows.view(np.uint64)
    out = packed.view(np.uint64)
    at = start
    filled = 0
    while at < rows.size and filled < out.size:
        for j in range(width):  # also an empty row, which the next one overwrites: no branch to mispredict
            out[filled + j] = bits[at + j]
        filled += width * int(bits[at] != EMPTY)
        at += width
    return at


@kernel
def range_starts(keys: Keys, width: int, flip: np.uint64, shift: int, starts: Ints) -> None:
    """Find where each range of keys begins in rows sorted by `key ^ flip`; the bits above `shift` number the range."""
    for number in range(starts.size):
        low, high = 0, keys.size // width
        while low < high:
            middle = (low + high) // 2
            if (keys[middle * width] ^ flip) >> np.uint64(shift) < np.uint64(number):
                low = middle + 1
            else:
                high = middle
        starts[number] = low
