"""Scanning of lower-case UTF-8. All bytes outside ASCII count as letters."""

import math

import numpy as np

from kernels.arrays import Bytes, Ints
from kernels.compiler import inlined, subroutine

SLASH, QUESTION, SHARP, AT, COLON, DOT, HYPHEN, UNDERSCORE, EQUALS, AND, PERCENT, PLUS, OPEN, CLOSE = (
    47, 63, 35, 64, 58, 46, 45, 95, 61, 38, 37, 43, 91, 93
)  # fmt: skip
SPACE, ZERO, NINE, LOWER_A, LOWER_Z, BEYOND_ASCII = 32, 48, 57, 97, 122, 128
CONTINUED, CONTINUED_END = 0x80, 0xC0  # UTF-8: not the first byte of a character

FEW = 4  # smaller numbers are not rounded
COUNTED = 256  # most bytes of which the entropy is computed
FIXED = 1 << 20
# n log2 n as integers: the same on every machine, unlike a sum of logarithms
N_LOG_N = np.array([0] + [round(n * math.log2(n) * FIXED) for n in range(1, COUNTED + 1)])


@inlined
def first_of(text: Bytes, start: int, stop: int, a: int, b: int, c: int) -> int:
    """Return where the first of three bytes occurs, or `stop`."""
    at = start
    while at < stop and text[at] != a and text[at] != b and text[at] != c:
        at += 1
    return at


@inlined
def find_byte(text: Bytes, start: int, stop: int, byte: int) -> int:
    """Return where a byte occurs first, or `stop`."""
    at = start
    while at < stop and text[at] != byte:
        at += 1
    return at


@inlined
def after_last(text: Bytes, start: int, stop: int, byte: int) -> int:
    """Return the position after the last such byte, or `start`."""
    at = stop
    while at > start and text[at - 1] != byte:
        at -= 1
    return at


@inlined
def count(text: Bytes, start: int, stop: int, byte: int) -> int:
    """Count the occurrences of a byte."""
    found = 0
    for k in range(start, stop):
        found += text[k] == byte
    return found


@inlined
def digits(text: Bytes, start: int, stop: int) -> int:
    """Count the digits."""
    found = 0
    for k in range(start, stop):
        found += ZERO <= text[k] <= NINE
    return found


@inlined
def step(number: int) -> int:
    """Round a number down to one of 0 1 2 3 4 6 8 12 16 24 ..."""
    if number < FEW:
        return number
    power = 1
    while 2 * power <= number:
        power *= 2
    return power + power // 2 if number >= power + power // 2 else power


@subroutine
def entropy(letters: Ints, text: Bytes, start: int, stop: int) -> int:
    """Return the entropy of the bytes in half bits, rounded."""
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


@inlined
def is_word(byte: np.uint8) -> bool:
    """Tell whether a byte belongs to a letter or a digit; outside ASCII, all do."""
    return bool(LOWER_A <= byte <= LOWER_Z or ZERO <= byte <= NINE or byte >= BEYOND_ASCII)


@inlined
def continues(byte: np.uint8) -> bool:
    """Tell whether a byte continues a character."""
    return bool(CONTINUED <= byte < CONTINUED_END)


@inlined
def next_character(text: Bytes, at: int, stop: int) -> int:
    """Return where the next character begins."""
    at = min(at + 1, stop)
    while at < stop and continues(text[at]):
        at += 1
    return at


@inlined
def characters(text: Bytes, start: int, stop: int) -> int:
    """Count the characters that begin there."""
    found = 0
    for k in range(start, stop):
        found += not continues(text[k])
    return found
