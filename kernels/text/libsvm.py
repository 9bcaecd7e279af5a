"""LIBSVM lines, `label index:value index:value ... # comment`; the name of a feature is its index as written."""

import numpy as np

from kernels.arrays import Bytes, Floats, Ints, Keys
from kernels.compiler import inlined, kernel
from kernels.examples.canonical import LARGEST_VALUE
from kernels.feature_hash import hash_name
from kernels.text.numbers import EXACT, NONE, NOT_A_NUMBER, ONE, read_digits, read_number
from kernels.text.parser import (
    BAD_LABEL,
    BAD_PAIR,
    COLON,
    DONE,
    EXAMPLES,
    LONGEST_NAME_BYTES,
    NEWLINE,
    POSITION,
    TOO_LARGE,
    TOO_LONG,
    Parsed,
    end_line,
    is_blank,
    read_label,
    skip_blanks,
)

COMMENT = 35  # '#'


@kernel
def parse_libsvm(text: Bytes, parsed: Parsed, cursor: Ints) -> int:
    """Parse lines until one is bad or all are done."""
    starts, keys, values, labels, name_starts = parsed
    answer = DONE
    while answer == DONE and cursor[POSITION] < text.size:
        at = skip_blanks(text, np.uint64(cursor[POSITION]))
        if not _ends_line(text[at]):
            example = cursor[EXAMPLES]
            answer, label, at = _parse_label(text, at)
            labels[example] = label
            if answer == DONE:
                answer, starts[example + 1], at = _parse_pairs(text, at, keys, values, name_starts, starts[example])
            cursor[EXAMPLES] += answer == DONE  # the next line overwrites a bad one
        end_line(text, cursor, at)
    return answer


@inlined
def _parse_label(text: Bytes, start: np.uint64) -> tuple[int, float, np.uint64]:
    label, at = read_label(text, start)
    if label == 0.0 or not _ends_token(text[at]):
        return BAD_LABEL, label, start
    return DONE, label, at


@inlined
def _parse_pairs(
    text: Bytes, at: np.uint64, keys: Keys, values: Floats, name_starts: Ints, start: int
) -> tuple[int, np.uint64, np.uint64]:
    """Parse the rest of a line into elements from `start` on; return their end, and where parsing stopped."""
    k = np.uint64(start)
    while True:
        at = skip_blanks(text, at)
        if _ends_line(text[at]):
            return DONE, k, at
        answer, value, colon, after = _parse_pair(text, at)
        if answer != DONE:
            return answer, k, at
        keys[k] = hash_name(text, at, colon)
        values[k] = value
        name_starts[k] = at
        k += ONE
        at = after


@inlined
def _parse_pair(text: Bytes, start: np.uint64) -> tuple[int, float, np.uint64, np.uint64]:
    """Return the value of a feature, where its index ends, and where the pair ends."""
    _, colon = read_digits(text, start, NONE)
    if colon == start or text[colon] != COLON:
        return BAD_PAIR, 0.0, colon, colon
    kind, value, after = read_number(text, colon + ONE)
    if kind == NOT_A_NUMBER or not _ends_token(text[after]):
        return BAD_PAIR, 0.0, colon, after
    if not abs(value) <= LARGEST_VALUE:
        return TOO_LARGE, 0.0, colon, after
    if colon - start > LONGEST_NAME_BYTES:
        return TOO_LONG, 0.0, colon, after
    return DONE, value if kind == EXACT else np.nan, colon, after


@inlined
def _ends_token(byte: int) -> bool:
    return is_blank(byte) or _ends_line(byte)


@inlined
def _ends_line(byte: int) -> bool:
    return byte == NEWLINE or byte == COMMENT  # noqa: PLR1714 - no tuples here
