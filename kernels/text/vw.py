"""Vowpal Wabbit lines, `label importance 'tag |namespace:scale name:value name ... |namespace ...`.

A feature is named `namespace^name`, or `name` in the unnamed namespace. Its value is 1 unless given, times the scale.
"""

import numpy as np

from kernels.arrays import Bytes, Floats, Ints, Keys
from kernels.compiler import inlined, kernel
from kernels.examples.canonical import LARGEST_VALUE
from kernels.feature_hash import hash_name
from kernels.text.numbers import EXACT, NONE, NOT_A_NUMBER, ONE, read_number
from kernels.text.parser import (
    BAD_FEATURE,
    BAD_IMPORTANCE,
    BAD_LABEL,
    BAD_NAMESPACE,
    COLON,
    DONE,
    EXAMPLES,
    LONGEST_NAME_BYTES,
    NEWLINE,
    NO_BAR,
    NO_LABEL,
    POSITION,
    TOO_LARGE,
    TOO_LONG,
    UNEXPECTED,
    Parsed,
    end_line,
    is_blank,
    read_label,
    skip_blanks,
)

QUOTE, CARET, BAR = 39, 94, 124
LONGEST_NAME = np.uint64(LONGEST_NAME_BYTES)


@kernel
def parse_vw(text: Bytes, parsed: Parsed, cursor: Ints) -> int:
    """Parse lines until one is bad or all are done."""
    starts, keys, values, labels, name_starts = parsed
    name = np.empty(LONGEST_NAME_BYTES, np.uint8)
    answer = DONE
    while answer == DONE and cursor[POSITION] < text.size:
        at = skip_blanks(text, np.uint64(cursor[POSITION]))
        if text[at] != NEWLINE:
            example = cursor[EXAMPLES]
            answer, label, at = _parse_head(text, at)
            labels[example] = label
            if answer == DONE:
                answer, starts[example + 1], at = _parse_features(
                    text, at, keys, values, name_starts, starts[example], name
                )
            cursor[EXAMPLES] += answer == DONE  # the next line overwrites a bad one
        end_line(text, cursor, at)
    return answer


@inlined
def _parse_head(text: Bytes, start: np.uint64) -> tuple[int, float, np.uint64]:
    """Read `label importance 'tag`; return the label and where the first bar is."""
    label = 0.0
    if text[_skip_tag(text, start)] == BAR:
        return NO_LABEL, label, start
    label, at = read_label(text, start)
    if label == 0.0 or not _ends_word(text[at]):
        return BAD_LABEL, label, start
    at = _skip_tag(text, skip_blanks(text, at))
    if text[at] != BAR and text[at] != NEWLINE:
        kind, importance, end = read_number(text, at)
        if kind != EXACT or importance != 1.0 or not _ends_word(text[end]):
            return BAD_IMPORTANCE, label, at
        at = _skip_tag(text, skip_blanks(text, end))
    if text[at] == BAR:
        return DONE, label, at
    return NO_BAR if text[at] == NEWLINE else UNEXPECTED, label, at


@inlined
def _skip_tag(text: Bytes, start: np.uint64) -> np.uint64:
    """Return where the bar is if only a tag precedes it, else `start`.

    As in Vowpal Wabbit, a word that touches the bar is a tag even without a quote.
    """
    end = start
    while not _ends_word(text[end]):
        end += ONE
    at = skip_blanks(text, end)
    return at if text[at] == BAR and (at == end or text[start] == QUOTE) else start


@inlined
def _parse_features(
    text: Bytes, at: np.uint64, keys: Keys, values: Floats, name_starts: Ints, start: int, name: Bytes
) -> tuple[int, np.uint64, np.uint64]:
    """Parse from the first bar to the end of the line, into elements from `start` on; return the end of both.

    `name` is a buffer for the full name of a feature; its first `prefix` bytes are the namespace.
    """
    k = np.uint64(start)
    prefix = NONE
    scale, kind = 1.0, EXACT
    while True:
        at = skip_blanks(text, at)
        if text[at] == NEWLINE:
            return DONE, k, at
        if text[at] == BAR:
            answer, prefix, scale, kind, after = _parse_namespace(text, at + ONE, name)
        else:
            answer, keys[k], values[k], after = _parse_feature(text, at, name, prefix, scale, kind)
            name_starts[k] = at
            k += ONE
        if answer != DONE:
            return answer, k, at
        at = after


@inlined
def _parse_namespace(text: Bytes, start: np.uint64, name: Bytes) -> tuple[int, np.uint64, float, int, np.uint64]:
    """Read `namespace:scale`; write `namespace^` to `name`, nothing if it is unnamed; return its length."""
    end = _name_end(text, start)
    length = end - start
    if length >= LONGEST_NAME:
        return TOO_LONG, length, 1.0, EXACT, end
    for k in range(length):
        name[k] = text[start + k]
    name[length] = CARET
    prefix = length + ONE if length > NONE else NONE
    if text[end] != COLON:
        return DONE, prefix, 1.0, EXACT, end
    kind, scale, after = read_number(text, end + ONE)
    is_bad = kind == NOT_A_NUMBER or prefix == NONE or not _ends_word(text[after])
    return BAD_NAMESPACE if is_bad else DONE, prefix, scale, kind, after


@inlined
def _parse_feature(
    text: Bytes, start: np.uint64, name: Bytes, prefix: np.uint64, scale: float, scale_kind: int
) -> tuple[int, np.uint64, float, np.uint64]:
    """Read `name` or `name:value`; return its key, its value times the scale, and where it ends."""
    end = _name_end(text, start)
    kind, value, after = EXACT, 1.0, end
    if text[end] == COLON:
        kind, value, after = read_number(text, end + ONE)
    if kind == NOT_A_NUMBER or end == start or not _ends_word(text[after]):
        return BAD_FEATURE, NONE, 0.0, after
    if not abs(value * scale) <= LARGEST_VALUE:
        return TOO_LARGE, NONE, 0.0, after
    if prefix + end - start > LONGEST_NAME:
        return TOO_LONG, NONE, 0.0, after
    is_exact = kind == EXACT and scale_kind == EXACT
    return DONE, _hash_full_name(text, start, end, name, prefix), value * scale if is_exact else np.nan, after


@inlined
def _hash_full_name(text: Bytes, start: np.uint64, stop: np.uint64, name: Bytes, prefix: np.uint64) -> np.uint64:
    if prefix == NONE:
        return hash_name(text, start, stop)
    for k in range(stop - start):
        name[prefix + k] = text[start + k]
    return hash_name(name, NONE, prefix + stop - start)


@inlined
def _name_end(text: Bytes, at: np.uint64) -> np.uint64:
    while text[at] != COLON and not _ends_word(text[at]):
        at += ONE
    return at


@inlined
def _ends_word(byte: int) -> bool:
    return is_blank(byte) or byte == BAR or byte == NEWLINE  # noqa: PLR1714 - no tuples here
