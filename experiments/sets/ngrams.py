"""Runs of words into keys, and which keys several examples have."""

import numpy as np
from numpy.typing import NDArray

from kernels.arrays import Bytes, Keys
from kernels.compiler import kernel
from kernels.feature_hash import hash_name

SPACE = 32


def ngrams(words: list[str], longest: int) -> Keys:
    """The keys of all runs of 1 to `longest` words, ascending, each once; a run is named by its words and spaces."""
    if not words:
        return np.empty(0, np.uint64)
    keys = np.empty(longest * len(words), np.uint64)
    return keys[: hash_runs(np.frombuffer(" ".join(words).encode(), np.uint8), longest, keys)]


def in_several(keys: Keys) -> NDArray[np.bool_]:
    """Whether each key is there more than once."""
    slots = 1 << keys.size.bit_length()  # more than there can be different keys
    several = np.empty(keys.size, np.bool_)
    mark_repeated(keys, np.zeros(slots, np.uint64), np.zeros(slots, np.bool_), several)
    return several


@kernel
def hash_runs(text: Bytes, longest: int, keys: Keys) -> int:
    """Hash the runs of words that stand between single spaces, ascending and each once; return how many there are."""
    starts = np.zeros(longest, np.int64)  # of the latest words
    words = count = 0
    for stop in range(text.size + 1):
        if stop == text.size or text[stop] == SPACE:
            for before in range(min(words + 1, longest)):
                keys[count] = hash_name(text, starts[(words - before) % longest], stop)
                count += 1
            words += 1
            starts[words % longest] = stop + 1
    keys[:count].sort()
    return _drop_repeated(keys, count)


@kernel
def mark_repeated(keys: Keys, table: Keys, repeated: NDArray[np.bool_], marks: NDArray[np.bool_]) -> None:
    """Mark the keys that come more than once, by a table of open addressing: several times as fast as to sort them."""
    for key in keys:
        slot = _slot(key, table)
        repeated[slot] = table[slot] == key
        table[slot] = key
    for k in range(keys.size):
        marks[k] = repeated[_slot(keys[k], table)]


@kernel
def _drop_repeated(keys: Keys, count: int) -> int:
    kept = 0
    for k in range(count):
        if k == 0 or keys[k] != keys[k - 1]:
            keys[kept] = keys[k]
            kept += 1
    return kept


@kernel
def _slot(key: np.uint64, table: Keys) -> np.uint64:
    mask = np.uint64(table.size - 1)
    slot = key & mask
    while table[slot] != key and table[slot] != np.uint64(0):  # no key is 0
        slot = (slot + np.uint64(1)) & mask
    return slot
