"""What the parsers of text formats share: where they put examples, how they blame a line, how they walk over bytes.

A parser gets a block of whole lines; its last byte is a newline. It fills `Parsed` from the front and moves the cursor.
It stops after a bad line, of which it keeps nothing, and blames some bytes of it; called again, it goes on after it.
"""

from typing import NamedTuple

import numpy as np

from kernels.arrays import Bytes, Floats, Ints, Keys
from kernels.compiler import kernel, part
from kernels.text.numbers import EXACT, ONE, read_number

TAB, NEWLINE, RETURN, SPACE, COLON = 9, 10, 13, 32, 58
LONGEST_NAME_BYTES = 4096

# What a parser answers: the block is done, or what is wrong with the line before the cursor.
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

# Places in the cursor: where to read on, how much of `Parsed` is filled, where the blamed bytes begin.
POSITION = 0
LINE = 1
EXAMPLES = 2
BLAMED = 3
CURSOR_SIZE = 4


class Parsed(NamedTuple):
    """Room for the examples of a block. A value that the kernels cannot round is NaN, for the caller to read again."""

    starts: Ints  # where the non-zeros of each example begin, and one more
    keys: Keys
    values: Floats
    labels: Floats
    name_starts: Ints  # where in the block the name of each non-zero stands


@part
def read_label(text: Bytes, start: np.uint64) -> tuple[float, np.uint64]:
    """Return 1.0 or -1.0 (which many files write as 0), or 0.0 for anything else; and where it ends."""
    kind, value, at = read_number(text, start)
    if kind != EXACT or not (value == 0.0 or abs(value) == 1.0):
        return 0.0, at
    return 1.0 if value == 1.0 else -1.0, at


@part
def end_line(text: Bytes, cursor: Ints, at: np.uint64) -> None:
    """Move the cursor to the line after the one that `at` is on; if the parser stops here, `at` is to blame."""
    cursor[BLAMED] = at
    while text[at] != NEWLINE:
        at += ONE
    cursor[POSITION] = at + ONE
    cursor[LINE] += 1


@part
def skip_blanks(text: Bytes, at: np.uint64) -> np.uint64:
    """Return where the next token of the line begins, or the newline."""
    while is_blank(text[at]):
        at += ONE
    return at


@part
def is_blank(byte: int) -> bool:
    """Tell whether a byte separates tokens; a carriage return does, so lines may end in either way."""
    return byte == SPACE or byte == TAB or byte == RETURN  # noqa: PLR1714 - no tuples here


@part
def is_space(byte: int) -> bool:
    """Tell whether a byte ends a token."""
    return is_blank(byte) or byte == NEWLINE


@kernel
def count(text: Bytes, byte: int) -> int:
    """Return how often a byte stands in the text."""
    found = 0
    for other in text:
        found += other == byte
    return found
