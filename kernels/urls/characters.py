"""Looking through bytes of UTF-8, in lower case. Bytes of other scripts all count as letters."""

import math

import numpy as np

from kernels.arrays import Bytes, Ints
from kernels.compiler import part, whole

SLASH, QUESTION, SHARP, AT, COLON, DOT, HYPHEN, UNDERSCORE, EQUALS, AND, PERCENT, PLUS, OPEN, CLOSE = (
    47, 63, 35, 64, 58, 46, 45, 95, 61, 38, 37, 43, 91, 93
)  # fmt: skip
SPACE, ZERO, NINE, LOWER_A, LOWER_Z, BEYOND_ASCII = 32, 48, 57, 97, 122, 128
CONTINUED, CONTINUED_END = 0x80, 0xC0  # UTF-8: not the first byte of a character

FEW = 4  # numbers below are told apart
COUNTED = 256  # bytes of which the entropy is taken, at most
FIXED = 1 << 20
# n log2 n as whole numbers: the same on every machine, which a sum of logarithms need not be
N_LOG_N = np.array([0] + [round(n * math.log2(n) * FIXED) for n in range(1, COUNTED + 1)])


@part
def first_of(text: Bytes, start: int, stop: int, a: int, b: int, c: int) -> int:
    """Where the first of three bytes stands, or `stop`."""
    at = start
    while at < stop and text[at] != a and text[at] != b and text[at] != c:
        at += 1
    return at


@part
def find_byte(text: Bytes, start: int, stop: int, byte: int) -> int:
    """Where a byte stands first, or `stop`."""
    at = start
    while at < stop and text[at] != byte:
        at += 1
    return at


@part
def after_last(text: Bytes, start: int, stop: int, byte: int) -> int:
    """Behind the last such byte, or the start."""
    at = stop
    while at > start and text[at - 1] != byte:
        at -= 1
    return at


@part
def count(text: Bytes, start: int, stop: int, byte: int) -> int:
    """How often a byte stands there."""
    found = 0
    for k in range(start, stop):
        found += text[k] == byte
    return found


@part
def digits(text: Bytes, start: int, stop: int) -> int:
    """How many digits stand there."""
    found = 0
    for k in range(start, stop):
        found += ZERO <= text[k] <= NINE
    return found


@part
def step(number: int) -> int:
    """The largest of 0 1 2 3 4 6 8 12 16 24 ... that is not above a number."""
    if number < FEW:
        return number
    power = 1
    while 2 * power <= number:
        power *= 2
    return power + power // 2 if number >= power + power // 2 else power


@whole
def entropy(letters: Ints, text: Bytes, start: int, stop: int) -> int:
    """Entropy of the bytes, in half bits, rounded."""
    size = min(stop - start, COUNTED)
    if size == 0:
        return 0
    for k in range(start, start + size):
        letters[text[k]] += 1
    spread = N_LOG_N[size]
    for k in range(start, start + size):
        spread -= N_LOG_N[letters[text[k]]]
        letters[text[k]] = 0
    return (4 * spread // size + FIXED) // (2 * FIXED)


@part
def is_word(byte: np.uint8) -> bool:
    """Whether a byte is of a letter or a digit; of other scripts, all are."""
    return bool(LOWER_A <= byte <= LOWER_Z or ZERO <= byte <= NINE or byte >= BEYOND_ASCII)


@part
def continues(byte: np.uint8) -> bool:
    """Whether a byte is not the first of its character."""
    return bool(CONTINUED <= byte < CONTINUED_END)


@part
def next_character(text: Bytes, at: int, stop: int) -> int:
    """Where the next character begins."""
    at = min(at + 1, stop)
    while at < stop and continues(text[at]):
        at += 1
    return at


@part
def characters(text: Bytes, start: int, stop: int) -> int:
    """How many characters begin there."""
    found = 0
    for k in range(start, stop):
        found += not continues(text[k])
    return found
