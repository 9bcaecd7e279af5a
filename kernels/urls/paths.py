"""The features of a path and of a query."""

from kernels.arrays import Bytes
from kernels.compiler import subroutine
from kernels.urls.characters import (
    AND,
    DOT,
    EQUALS,
    HYPHEN,
    NINE,
    SLASH,
    UNDERSCORE,
    ZERO,
    after_last,
    count,
    digits,
    entropy,
    find_byte,
    is_word,
    step,
)
from kernels.urls.pieces import (
    DEPTH,
    DIGITS_PATH,
    DIR_0,
    DOTS_PATH,
    ENTROPY_FILE,
    EXTENSION,
    FILE,
    HYPHENS_PATH,
    IS_DOUBLE_SLASH,
    IS_FOLDER,
    LENGTH_PATH,
    LENGTH_QUERY,
    PARAMETER,
    PARAMETERS,
    PATH,
    QUERY,
    SHAPE,
    UNDERSCORES_PATH,
    Pieces,
    add,
    add_count,
    add_flag,
    add_number,
)
from kernels.urls.words import add_words

LONGEST_EXTENSION = 10
DEEPEST = 4  # segments with a prefix of their own; the others share one


@subroutine
def read_path(pieces: Pieces, text: Bytes, start: int, stop: int) -> None:
    """Add the features of the path, which begins with its slash."""
    begin = min(start + 1, stop)
    at, last, depth = begin, stop, 0
    while at < stop:
        end = find_byte(text, at, stop, SLASH)
        if end > at:
            add(pieces, DIR_0 + min(depth, DEEPEST), at, end)
            _shape(pieces, text, at, end)
            last = at
        else:
            add_flag(pieces, IS_DOUBLE_SLASH)
        depth += 1
        at = end + 1
    if stop > begin and text[stop - 1] == SLASH:
        add_flag(pieces, IS_FOLDER)
    if last < stop:
        _file(pieces, text, last, find_byte(text, last, stop, SLASH))
    add_words(pieces, PATH, text, begin, stop)
    add_number(pieces, DEPTH, min(depth, 12))
    add_number(pieces, LENGTH_PATH, step(stop - begin))
    add_count(pieces, DIGITS_PATH, step(digits(text, begin, stop)))
    add_count(pieces, HYPHENS_PATH, step(count(text, begin, stop, HYPHEN)))
    add_count(pieces, UNDERSCORES_PATH, step(count(text, begin, stop, UNDERSCORE)))
    add_count(pieces, DOTS_PATH, min(count(text, begin, stop, DOT), 6))


@subroutine
def _file(pieces: Pieces, text: Bytes, start: int, stop: int) -> None:
    add(pieces, FILE, start, stop)
    add_number(pieces, ENTROPY_FILE, entropy(pieces.letters, text, start, stop))
    extension = after_last(text, start, stop, DOT)
    if start < extension and stop - extension <= LONGEST_EXTENSION:
        add(pieces, EXTENSION, extension, stop)


@subroutine
def _shape(pieces: Pieces, text: Bytes, start: int, stop: int) -> None:
    """Add the kinds of characters in a segment, and its length: shape:ad12."""
    letters = digits = others = 0
    for k in range(start, stop):
        if ZERO <= text[k] <= NINE:
            digits += 1
        elif is_word(text[k]):
            letters += 1
        else:
            others += 1
    kinds = (letters > 0) + 2 * (digits > 0) + 4 * (others > 0)
    add_number(pieces, SHAPE + kinds, step(stop - start))


@subroutine
def read_query(pieces: Pieces, text: Bytes, start: int, stop: int) -> None:
    """Add the features of the query, which begins with its question mark."""
    at = min(start + 1, stop)
    add_number(pieces, LENGTH_QUERY, step(stop - at))
    add_words(pieces, QUERY, text, at, stop)
    parameters = 0
    while at < stop:
        end = find_byte(text, at, stop, AND)
        equals = find_byte(text, at, end, EQUALS)
        add(pieces, PARAMETER, at, equals)
        parameters += 1
        at = end + 1
    add_count(pieces, PARAMETERS, min(parameters, 8))
