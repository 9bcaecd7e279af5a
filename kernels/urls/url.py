"""The features of a URL: find its pieces, then write and hash their names.

docs/features.md lists the features; tests/reference/urls.py is the slow reference. The text is UTF-8, in lower case.
"""

import numpy as np

from kernels.arrays import Bytes, Floats, Keys
from kernels.compiler import inlined, kernel, subroutine
from kernels.urls.characters import (
    COLON,
    DOT,
    HYPHEN,
    LOWER_A,
    LOWER_Z,
    NINE,
    PERCENT,
    PLUS,
    QUESTION,
    SHARP,
    SLASH,
    SPACE,
    ZERO,
    count,
    find_byte,
    first_of,
    step,
)
from kernels.urls.hosts import read_host
from kernels.urls.paths import read_path, read_query
from kernels.urls.pieces import FRAGMENT, LENGTH_URL, PATH_GRAM, PERCENTS, Pieces, add_count, add_number, write
from kernels.urls.words import add_brands, add_grams, add_words

PER_BYTE, AT_LEAST = 3, 64  # features that a text of some bytes can have


@kernel
def read_url(url: Bytes, known: Keys, names: Bytes, keys: Keys, values: Floats, spans: Keys) -> int:
    """Fill names, keys, values and the spans of the names; return how many features there are.

    `known` is a hash table of public suffixes and brands. What does not fit into the arrays is left out. A feature that
    occurs twice counts once.
    """
    text = np.empty(2 * url.size + 2, np.uint8)
    text[: url.size] = url
    pieces = Pieces(spans, np.zeros(1, np.int64), np.zeros(256, np.int64))
    _find(pieces, text, url.size, known)
    size = 64
    while size < 2 * pieces.size[0]:
        size *= 2
    return write(pieces, text, np.zeros(size, np.uint64), names, keys, values, spans)


@subroutine
def _find(pieces: Pieces, text: Bytes, size: int, known: Keys) -> None:
    start = _after_scheme(text, size)
    authority = first_of(text, start, size, SLASH, QUESTION, SHARP)
    path = first_of(text, authority, size, QUESTION, SHARP, SHARP)
    query = find_byte(text, path, size, SHARP)
    name, name_stop = read_host(pieces, text, start, authority, size, known)
    read_path(pieces, text, authority, path)
    read_query(pieces, text, path, query)
    add_grams(pieces, PATH_GRAM, text, authority, query)
    add_words(pieces, FRAGMENT, text, query, size)
    add_brands(pieces, text, start, query, known, name, name_stop)
    add_number(pieces, LENGTH_URL, step(size - start))
    add_count(pieces, PERCENTS, step(count(text, authority, size, PERCENT)))


@inlined
def _after_scheme(text: Bytes, size: int) -> int:
    """Return the position after `http://`, another scheme or `//`, or where the text begins."""
    start = 0
    while start < size and text[start] <= SPACE:
        start += 1
    at = start
    if at < size and LOWER_A <= text[at] <= LOWER_Z:
        while at < size and _is_scheme(text[at]):
            at += 1
        if at == size or text[at] != COLON:
            return start
        at += 1
    if at + 1 < size and text[at] == SLASH and text[at + 1] == SLASH:
        return at + 2
    return start


@inlined
def _is_scheme(byte: np.uint8) -> bool:
    return bool(LOWER_A <= byte <= LOWER_Z or ZERO <= byte <= NINE or byte == PLUS or byte == HYPHEN or byte == DOT)  # noqa: PLR1714, SIM109 - no tuples here
