"""The key of a feature: XXH64 (seed 0) of its UTF-8 name.

XXH64 is published, has test vectors and libraries in every language, and gives the same number on every machine, so
logs and models can be read anywhere. 0 marks an empty slot of the table, so a name that hashes to 0 gets the key 1.
"""

import numpy as np

from kernels.arrays import Bytes, Keys
from kernels.compiler import inlined, kernel

P1 = np.uint64(0x9E3779B185EBCA87)
P2 = np.uint64(0xC2B2AE3D27D4EB4F)
P3 = np.uint64(0x165667B19E3779F9)
P4 = np.uint64(0x85EBCA77C2B2AE63)
P5 = np.uint64(0x27D4EB2F165667C5)
SEPARATOR = 0  # between the names of one example; names that contain it are hashed one by one


def key_of(name: str) -> int:
    """Return the key of one feature name."""
    text = np.frombuffer(name.encode(), np.uint8)
    return int(hash_name(text, 0, text.size))


@kernel
def hash_names(text: Bytes, keys: Keys) -> int:
    """Hash the names in `text`, split at separators, into `keys`; return how many there are."""
    count = np.uint64(0)
    start = np.uint64(0)
    for stop in range(np.uint64(text.size)):
        if text[stop] == SEPARATOR:
            keys[count] = hash_name(text, start, stop)
            count += np.uint64(1)
            start = stop + np.uint64(1)
    keys[count] = hash_name(text, start, np.uint64(text.size))
    return int(count) + 1


@kernel
def hash_name(text: Bytes, start: int | np.uint64, stop: int | np.uint64) -> np.uint64:
    """Return the key of the name at `text[start:stop]`."""
    at = np.uint64(start)
    end = np.uint64(stop)
    length = end - at
    if length >= np.uint64(32):
        lanes_end = end - np.uint64(32)
        a, b, c, d = P1 + P2, P2, np.uint64(0), np.uint64(0) - P1
        while at <= lanes_end:
            a = _round(a, word_at(text, at))
            b = _round(b, word_at(text, at + np.uint64(8)))
            c = _round(c, word_at(text, at + np.uint64(16)))
            d = _round(d, word_at(text, at + np.uint64(24)))
            at += np.uint64(32)
        h = _rotate(a, 1) + _rotate(b, 7) + _rotate(c, 12) + _rotate(d, 18)
        h = _merge(_merge(_merge(_merge(h, a), b), c), d)
    else:
        h = P5
    return _finish(h + length, text, at, end)


@inlined
def _finish(h: np.uint64, text: Bytes, at: np.uint64, end: np.uint64) -> np.uint64:
    while at + np.uint64(8) <= end:
        h = _rotate(h ^ _round(np.uint64(0), word_at(text, at)), 27) * P1 + P4
        at += np.uint64(8)
    if at + np.uint64(4) <= end:
        h = _rotate(h ^ (_half(text, at) * P1), 23) * P2 + P3
        at += np.uint64(4)
    while at < end:
        h = _rotate(h ^ (np.uint64(text[at]) * P5), 11) * P1
        at += np.uint64(1)
    h = (h ^ (h >> np.uint64(33))) * P2
    h = (h ^ (h >> np.uint64(29))) * P3
    h ^= h >> np.uint64(32)
    return h if h != np.uint64(0) else np.uint64(1)


@inlined
def _rotate(h: np.uint64, by: int) -> np.uint64:
    return (h << np.uint64(by)) | (h >> np.uint64(64 - by))


@inlined
def _round(lane: np.uint64, word: np.uint64) -> np.uint64:
    return _rotate(lane + word * P2, 31) * P1


@inlined
def _merge(h: np.uint64, lane: np.uint64) -> np.uint64:
    return (h ^ _round(np.uint64(0), lane)) * P1 + P4


@inlined
def _half(text: Bytes, at: np.uint64) -> np.uint64:
    """Four bytes as a little-endian number; LLVM turns this into one load."""
    return (
        np.uint64(text[at])
        | np.uint64(text[at + np.uint64(1)]) << np.uint64(8)
        | np.uint64(text[at + np.uint64(2)]) << np.uint64(16)
        | np.uint64(text[at + np.uint64(3)]) << np.uint64(24)
    )


@inlined
def word_at(text: Bytes, at: np.uint64) -> np.uint64:
    """Eight bytes as a little-endian number."""
    return _half(text, at) | _half(text, at + np.uint64(4)) << np.uint64(32)
