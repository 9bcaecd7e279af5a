"""What the parsers of text formats share: the output arrays, the error codes, and the scanning of lines.

A parser gets a block of whole lines; its last byte is a newline. It fills `Parsed` from the front and moves the cursor.
It stops after a bad line, which it discards, and records where the error is; the next call continues after that line.
"""

from typing import NamedTuple

import numpy as np

from kernels.arrays import Bytes, Floats, Ints, Keys
from kernels.compiler import inlined, kernel
from kernels.text.numbers import EXACT, ONE, read_number

TAB, NEWLINE, RETURN, SPACE, COLON = 9, 10, 13, 32, 58
LONGEST_NAME_BYTES = 4096

# Results of a parser: the block is done, or the error in the line before the cursor.
DONE = 0
BAD_LABEL = 1
BAD_PAIR = 2
BAD_FEATURE = 3
BAD_NAMESPACE = 4
BAD_IMPORTANCE = 5
UNEXPECTED = 6
NO_LABEL = 7
NO_BAR = 8
TOO_LARGE = 9
TOO_LONG = 10

# Indices of the cursor: where to continue, how much of `Parsed` is filled, where the error is.
POSITION = 0
LINE = 1
EXAMPLES = 2
BLAMED = 3
CURSOR_SIZE = 4


class Parsed(NamedTuple):
    """Arrays for the examples of a block. A value that the kernels cannot round is NaN, and the caller parses it."""

    starts: Ints  # where the non-zeros of each example begin, and the end of the last
    keys: Keys
    values: Floats
    labels: Floats
    name_starts: Ints  # where in the block the name of each non-zero begins


@inlined
def read_label(text: Bytes, start: np.uint64) -> tuple[float, np.uint64]:
    """Return 1.0 or -1.0 (which many files write as 0), or 0.0 for anything else; and where it ends."""
    kind, value, at = read_number(text, start)
    if kind != EXACT or not (value == 0.0 or abs(value) == 1.0):
        return 0.0, at
    return 1.0 if value == 1.0 else -1.0, at


@inlined
def end_line(text: Bytes, cursor: Ints, at: np.uint64) -> None:
    """Move the cursor to the line after the one that contains `at`, which is recorded as where the error is, if any."""
    cursor[BLAMED] = at
    while text[at] != NEWLINE:
        at += ONE
    cursor[POSITION] = at + ONE
    cursor[LINE] += 1


@inlined
def skip_blanks(text: Bytes, at: np.uint64) -> np.uint64:
    """Return where the next token of the line begins, or the newline."""
    while is_blank(text[at]):
        at += ONE
    return at


@inlined
def is_blank(byte: int) -> bool:
    """Tell whether a byte separates tokens; a carriage return does, so both kinds of line ending work."""
    return byte == SPACE or byte == TAB or byte == RETURN  # noqa: PLR1714 - no tuples here


@inlined
def is_space(byte: int) -> bool:
    """Tell whether a byte ends a token."""
    return is_blank(byte) or byte == NEWLINE


@kernel
def count(text: Bytes, byte: int) -> int:
    """Count the occurrences of a byte."""
    found = 0
    for other in text:
        found += other == byte
    return found
