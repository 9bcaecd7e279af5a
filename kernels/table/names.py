"""Compact storage of feature names: sorted keys, the end of each name, and the UTF-8 of all names in one array.

These arrays are never changed: new names are merged into new arrays, so that a snapshot can keep the old ones.
"""

import numpy as np

from kernels.arrays import Bytes, Ends, Ints, Keys
from kernels.compiler import inlined, kernel

HALF_WORD = np.uint64(32)


@kernel
def find_unknown(held: Keys, keys: Keys, unknown: Ints) -> int:
    """List which of `keys` are not in `held`, which is sorted; return how many."""
    count = 0
    for k in range(keys.size):
        at = _place(held, keys[k])
        if at == held.size or held[at] != keys[k]:
            unknown[count] = k
            count += 1
    return count


@kernel
def merge_names(
    keys: Keys,
    ends: Ends,
    text: Bytes,
    more_keys: Keys,
    more_ends: Ends,
    more_text: Bytes,
    all_keys: Keys,
    all_ends: Ends,
    all_text: Bytes,
) -> None:
    """Merge two sets of names that have no key in common; runs between two new names are copied at once."""
    first = written = 0
    for m in range(more_keys.size):
        stop = _place(keys, more_keys[m])
        written = _copy(keys, ends, text, first, stop, all_keys, all_ends, all_text, first + m, written)
        written = _copy(more_keys, more_ends, more_text, m, m + 1, all_keys, all_ends, all_text, stop + m, written)
        first = stop
    _copy(keys, ends, text, first, keys.size, all_keys, all_ends, all_text, first + more_keys.size, written)


@inlined
def _copy(
    keys: Keys,
    ends: Ends,
    text: Bytes,
    first: int,
    stop: int,
    all_keys: Keys,
    all_ends: Ends,
    all_text: Bytes,
    to: int,
    written: int,
) -> int:
    """Copy the names from `first` up to `stop`; return the new end of the text."""
    if first == stop:
        return written
    start: int = np.int64(ends[first - 1]) if first > 0 else np.int64(0)  # type: ignore[assignment]
    length: int = np.int64(ends[stop - 1]) - start  # type: ignore[assignment]
    all_keys[to : to + stop - first] = keys[first:stop]
    for k in range(stop - first):
        all_ends[to + k] = np.uint32(np.int64(ends[first + k]) - start + written)
    all_text[written : written + length] = text[start : start + length]
    return written + length


@inlined
def _place(held: Keys, key: np.uint64) -> int:
    """Return where the key is, or where it would be inserted.

    Keys are hashes, so the position is about proportional to the key; from there the search gallops in doubling steps.
    """
    size = held.size
    low, high, step = 0, size, 8
    guess: int = np.int64(((key >> HALF_WORD) * np.uint64(size)) >> HALF_WORD)  # type: ignore[assignment]
    if size > 0 and held[guess] < key:
        low = guess + 1
        while low + step < size and held[low + step] < key:
            low += step + 1
            step *= 2
        high = min(low + step, size)
    elif size > 0:
        high = guess
        while high - step > 0 and held[high - step] >= key:
            high -= step
            step *= 2
        low = max(high - step, 0)
    while low < high:
        middle = (low + high) // 2
        if held[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low
