"""The rows of the feature table: open addressing with key and state side by side, sorted by key.

A table is one flat float64 array of rows `[key, state...]`. The key is stored as its bits, and 0 means empty. The upper
bits of a key are its home slot, and rows are in the order of their keys (linear probing in key order, from the largest
key down). So
- the layout depends on the keys alone: two tables with equal content are equal in memory, whatever their history;
- the rows from first to last are in key order: digests and snapshots need no sorting;
- a search stops at the first smaller key, and an empty slot (0) is smaller than all: one comparison per probe;
- growing moves rows only to the right and works in place.

Spare slots after the last home slot take what overflows. The very last row is a sink, which always counts as empty:
the state of features without a row is written there, without a branch.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from kernels.arrays import Floats, Keys
from kernels.compiler import inlined_no_refcount
from kernels.learner.options import LIMIT
from kernels.learner.totals import BITS, DROPPED, FEATURES, OUTCOME, TABLE_FULL

LEAST_BITS = 6
LOAD = 0.8  # with rows of 24 bytes: at most 60 bytes per feature right after doubling
CROWDED = 0.25  # below this load only crafted names prevent a row from being placed, and growing does not help
AHEAD = np.uint64(96)  # non-zeros by which rows are prefetched ahead
CACHED = 1 << 17  # a table of up to 1 MiB stays in the cache; prefetching would only cost time
PROBES = np.uint64(1024)  # no row lies farther from its home slot
ONE = np.uint64(1)
FIRST, SECOND, THIRD = np.uint64(1), np.uint64(2), np.uint64(3)  # where a row's states lie, after its key
EMPTY = np.uint64(0)
# Where a single example begins; a literal 0 would be compiled as a type of its own.
START: int = np.int64(0)  # type: ignore[assignment]

Fresh = tuple[float, ...]  # the state of a new row; its length is known when compiling, so loops over it unroll


def spare(bits: int) -> int:
    """Return how many slots follow the last home slot: so many that their overflow is as rare as a long probe."""
    return min(max(128, (1 << bits) // 32), 1024)


def table_size(bits: int, width: int) -> int:
    """Return the length of the array for 2^bits home slots, the spare slots and the sink."""
    return ((1 << bits) + spare(bits) + 1) * width


@intrinsic
def fetch(typing_context, array, index):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Prefetch the cache line of `array[index]` into the second-level cache; a hint that changes no result.

    The first level is too small for prefetching so far ahead: measured 11 to 19% slower.
    """

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        start = make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(start, [arguments[1]]), cgutils.voidptr_t)
        number = ir.IntType(32)
        form = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number])
        prefetch = cgutils.get_or_insert_function(builder.module, form, "llvm.prefetch.p0")
        builder.call(prefetch, [address, number(0), number(2), number(1)])
        return context.get_dummy_value()

    return types.void(array, types.uint64), generate


@inlined_no_refcount
def find(bits: Keys, width: np.uint64, shift: np.uint64, key: np.uint64) -> np.uint64:
    """Return where the row of `key` begins or, if there is none, where it would be inserted."""
    at = (~key >> shift) * width
    # Two probes without a branch: a mispredicted one costs more than both.
    at += width * (np.uint64(bits[at] > key) + np.uint64(bits[at + width] > key))
    while bits[at] > key:
        at += width
    return at


@inlined_no_refcount
def fetch_row(rows: Floats, width: np.uint64, shift: np.uint64, key: np.uint64) -> None:
    """Prefetch the home row of `key` and the next row."""
    at = (~key >> shift) * width
    fetch(rows, at)
    fetch(rows, at + width + width - ONE)


@inlined_no_refcount
def gather(
    rows: Floats, totals: Floats, keys: Keys, start: int, stop: int, slots: Keys, states: Floats, fresh: Fresh
) -> int:
    """Find the rows of `keys[start:stop]` and copy their states; unknown features get the sink and a fresh state.

    Return how many are unknown. Rows of later keys are prefetched, also beyond the end of the example.
    """
    bits = rows.view(np.uint64)
    width = np.uint64(len(fresh) + 1)
    shift = np.uint64(64) - np.uint64(totals[BITS])
    sink = np.uint64(rows.size) - width
    last = np.uint64(keys.size) - ONE
    far = rows.size > CACHED
    first = np.uint64(start)
    unknown = 0
    for k in range(np.uint64(stop) - first):
        if far:
            fetch_row(rows, width, shift, keys[min(first + k + AHEAD, last)])
        key = keys[first + k]
        at = find(bits, width, shift, key)
        if bits[at] == key:
            slots[k] = at
            for j in range(len(fresh)):
                states[j, k] = rows[at + np.uint64(1 + j)]
        else:
            unknown += 1
            slots[k] = sink
            for j in range(len(fresh)):
                states[j, k] = fresh[j]
    return unknown


@inlined_no_refcount
def enter(
    rows: Floats,
    totals: Floats,
    keys: Keys,
    start: int,
    stop: int,
    slots: Keys,
    states: Floats,
    fresh: Fresh,
    settings: Floats,
) -> bool:
    """Gather an example to learn, with rows for its new features; False if the table must grow first."""
    if gather(rows, totals, keys, start, stop, slots, states, fresh) == 0:
        return True
    if not _insert_unknown(rows, totals, keys, start, stop, slots, fresh, settings):
        totals[OUTCOME] = TABLE_FULL
        return False
    gather(rows, totals, keys, start, stop, slots, states, fresh)  # inserting moved rows
    return True


@inlined_no_refcount
def _insert_unknown(
    rows: Floats, totals: Floats, keys: Keys, start: int, stop: int, slots: Keys, fresh: Fresh, settings: Floats
) -> bool:
    """Give every unknown feature of the example a fresh row; False if the table must grow first.

    At the limit, a new feature gets no row and is counted as dropped; known features continue to learn.
    """
    sink = np.uint64(rows.size) - np.uint64(len(fresh) + 1)
    dropped = 0
    for k in range(stop - start):
        if slots[k] != sink:
            continue
        if totals[FEATURES] >= settings[LIMIT]:
            dropped += 1
        elif _full(totals) or not _insert(rows, totals, keys[start + k], fresh):
            if totals[FEATURES] >= CROWDED * _homes(totals):
                return False
            dropped += 1
    totals[DROPPED] += dropped
    return True


@inlined_no_refcount
def _full(totals: Floats) -> bool:
    return bool(totals[FEATURES] + 1.0 > LOAD * _homes(totals))


@inlined_no_refcount
def _homes(totals: Floats) -> float:
    return float(1 << int(totals[BITS]))


@inlined_no_refcount
def _insert(rows: Floats, totals: Floats, key: np.uint64, fresh: Fresh) -> bool:
    """Insert a fresh row, moving the rows after it by one; False if one of them would be too far from its home."""
    bits = rows.view(np.uint64)
    width = np.uint64(len(fresh) + 1)
    shift = np.uint64(64) - np.uint64(totals[BITS])
    at = find(bits, width, shift, key)
    if bits[at] == key:  # inserted by an earlier attempt, before the table grew
        return True
    gap = _gap(bits, width, shift, at)
    if gap == np.uint64(bits.size) - width or at // width - (~key >> shift) > PROBES:
        return False
    for j in range(gap - at):
        bits[gap + width - ONE - j] = bits[gap - ONE - j]
    bits[at] = key
    for j in range(len(fresh)):
        rows[at + np.uint64(1 + j)] = fresh[j]
    totals[FEATURES] += 1.0
    return True


@inlined_no_refcount
def _gap(bits: Keys, width: np.uint64, shift: np.uint64, at: np.uint64) -> np.uint64:
    """Return the first empty row from `at` on, or the sink if a row before it cannot move by one."""
    while bits[at] != EMPTY:
        at += width
        if at // width - (~bits[at - width] >> shift) > PROBES:
            return np.uint64(bits.size) - width
    return at
