"""Pieces of a URL that become features: a prefix with a slice of the text or a number; and their names and keys."""

from typing import NamedTuple

import numpy as np

from kernels.arrays import Bytes, Floats, Ints, Keys
from kernels.compiler import inlined, subroutine
from kernels.feature_hash import hash_name
from kernels.urls.characters import ZERO, continues

LONGEST = 40  # most bytes of the text in a name
NAME_BYTES = 64  # the longest name
PREFIX_BITS, START_BITS, PLACE = np.uint64(48), np.uint64(24), np.uint64((1 << 24) - 1)
NUMBER = (1 << 24) - 1  # in place of the end of a slice: the piece is a number

PREFIXES = (
    "host:", "sub:", "name:", "domain:", "suffix:", "host4:", "path:", "path4:", "file:", "ext:", "query:", "param:",
    "fragment:", "brand:", "port:", "dir0:", "dir1:", "dir2:", "dir3:", "dir4+:", "subs:", "depth:", "params:",
    "len:url:", "len:host:", "len:name:", "len:path:", "len:query:", "digits:host:", "digits:name:", "digits:path:",
    "hyphens:host:", "hyphens:path:", "underscores:path:", "dots:path:", "percent:", "entropy:name:", "entropy:file:",
    "shape:", "shape:a", "shape:d", "shape:ad", "shape:.", "shape:a.", "shape:d.", "shape:ad.",
    "is:ip", "is:userinfo", "is:punycode", "is:mixed-scripts", "is:double-slash", "is:folder",
)  # fmt: skip
(
    HOST, SUB, NAME, DOMAIN, SUFFIX, HOST_GRAM, PATH, PATH_GRAM, FILE, EXTENSION, QUERY, PARAMETER, FRAGMENT, BRANDED,
    PORT, DIR_0, _1, _2, _3, _4, SUBS, DEPTH, PARAMETERS, LENGTH_URL, LENGTH_HOST, LENGTH_NAME, LENGTH_PATH,
    LENGTH_QUERY, DIGITS_HOST, DIGITS_NAME, DIGITS_PATH, HYPHENS_HOST, HYPHENS_PATH, UNDERSCORES_PATH, DOTS_PATH,
    PERCENTS, ENTROPY_NAME, ENTROPY_FILE, SHAPE, _a, _d, _ad, _o, _ao, _do, _ado,
    IS_IP, IS_USERINFO, IS_PUNYCODE, IS_MIXED, IS_DOUBLE_SLASH, IS_FOLDER,
) = range(len(PREFIXES))  # fmt: skip
PREFIX_TEXT = np.frombuffer("".join(PREFIXES).encode(), np.uint8)
PREFIX_STARTS = np.cumsum([0, *map(len, PREFIXES)])
# Features that identify this URL have the value 1, those that many URLs share 0.5.
GENERAL = (EXTENSION, BRANDED, *range(SUBS, len(PREFIXES)))
VALUES = np.array([0.5 if prefix in GENERAL else 1.0 for prefix in range(len(PREFIXES))])


class Pieces(NamedTuple):
    """One word per piece: a prefix, and the start and end of a slice of the text, or a number."""

    words: Keys
    size: Ints  # one element: the number of pieces
    letters: Ints  # scratch for counting bytes; 0 between calls


@inlined
def add(pieces: Pieces, prefix: int, start: int, stop: int) -> None:
    """Add a feature named by a slice of the text."""
    size = pieces.size[0]
    if size < pieces.words.size:
        pieces.words[size] = np.uint64(prefix) << PREFIX_BITS | np.uint64(start) << START_BITS | np.uint64(stop)
        pieces.size[0] = size + 1


@inlined
def add_number(pieces: Pieces, prefix: int, number: int) -> None:
    """Add a feature named by a number."""
    add(pieces, prefix, number, NUMBER)


@inlined
def add_count(pieces: Pieces, prefix: int, number: int) -> None:
    """Add a feature named by a number that is not 0."""
    if number > 0:
        add(pieces, prefix, number, NUMBER)


@inlined
def add_flag(pieces: Pieces, prefix: int) -> None:
    """Add a feature whose name is its prefix."""
    add(pieces, prefix, 0, 0)


@subroutine
def write(pieces: Pieces, text: Bytes, seen: Keys, names: Bytes, keys: Keys, values: Floats, spans: Keys) -> int:
    """Write and hash the names of the pieces, without duplicates; return how many features there are.

    `pieces.words` may be `spans`: a piece is read before its span is written.
    """
    start = count = 0
    for k in range(pieces.size[0]):
        if start + NAME_BYTES > names.size or count == keys.size:
            break
        piece = pieces.words[k]
        prefix = int(piece >> PREFIX_BITS)
        stop = _write_name(prefix, int(piece >> START_BITS & PLACE), int(piece & PLACE), text, names, start)
        key = hash_name(names, start, stop)
        if _is_new(seen, key):
            keys[count], values[count] = key, VALUES[prefix]
            spans[count] = np.uint64(start) << np.uint64(32) | np.uint64(stop)
            start = stop
            count += 1
    return count


@inlined
def _write_name(prefix: int, start: int, stop: int, text: Bytes, names: Bytes, at: int) -> int:
    for k in range(PREFIX_STARTS[prefix], PREFIX_STARTS[prefix + 1]):
        names[at] = PREFIX_TEXT[k]
        at += 1
    if stop == NUMBER:
        return _write_number(start, names, at)
    if stop > start + LONGEST:
        stop = start + LONGEST
        while continues(text[stop]):  # do not cut a character in two
            stop -= 1
    for k in range(start, stop):
        names[at] = text[k]
        at += 1
    return at


@inlined
def _write_number(number: int, names: Bytes, at: int) -> int:
    scale = 1
    while scale * 10 <= number:
        scale *= 10
    while scale > 0:
        names[at] = ZERO + number // scale % 10
        at += 1
        scale //= 10
    return at


@inlined
def _is_new(seen: Keys, key: np.uint64) -> bool:
    """Add a key to a hash set; False if it was there."""
    slot = key & np.uint64(seen.size - 1)
    while seen[slot] != 0:
        if seen[slot] == key:
            return False
        slot = (slot + np.uint64(1)) & np.uint64(seen.size - 1)
    seen[slot] = key
    return True
