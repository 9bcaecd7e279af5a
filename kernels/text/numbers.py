"""Decimal numbers in text, rounded as Python's `float` rounds them.

A number whose digits fit in 53 bits and whose power of ten is itself a float is one exact operand times or over
another: one rounding, so the nearest float (Clinger's fast path). Nearly all others are rounded by
`kernels.text.decimals`.
The rest (the smallest and largest numbers, and those that 19 digits do not decide) is only recognised as a number, and
the caller parses it with `float`.

Positions are unsigned, which spares Numba the check for negative ones. The end of the text is never checked: the caller
ensures that it is a newline.
"""

import numpy as np

from kernels.arrays import Bytes
from kernels.compiler import inlined
from kernels.text.decimals import REACH, nearest

NOT_A_NUMBER, EXACT, ROUGH = range(3)

PLUS, MINUS, POINT, UPPER_E, LOWER_E = 43, 45, 46, 69, 101
NONE, ONE, NINE, TEN, ZERO = np.uint64(0), np.uint64(1), np.uint64(9), np.uint64(10), np.uint64(48)
MOST_DIGITS = np.uint64(19)  # this many always fit in 64 bits
ROOM = np.uint64(10**18)  # a mantissa below this has room for another digit
LARGEST_EXACT = np.uint64(2**53)
POWERS = tuple(float(10**k) for k in range(23))  # 10^22 is the last power of ten that is a float
ENDLESS = 10**9  # no number of digits in a line can offset this exponent


@inlined
def read_number(text: Bytes, start: np.uint64) -> tuple[int, float, np.uint64]:
    """Read the number at `start`; return its kind, its value (rough unless EXACT) and where it ends."""
    negative = text[start] == MINUS
    first = start + ONE if negative or text[start] == PLUS else start
    mantissa, at = read_digits(text, first, NONE)
    digits = at - first
    exponent = 0
    if text[at] == POINT:
        mantissa, end = read_digits(text, at + ONE, mantissa)
        exponent = 1 - int(end - at)
        digits += end - at - ONE
        at = end
    if digits == NONE:
        return NOT_A_NUMBER, 0.0, at
    kind = EXACT
    if digits > MOST_DIGITS:
        mantissa, exponent, kind = _read_many_digits(text, first, at)
    if text[at] == LOWER_E or text[at] == UPPER_E:
        power, end = _read_exponent(text, at + ONE)
        kind = kind if end > at else NOT_A_NUMBER
        exponent += power
        at = end
    kind, value = _scale(kind, mantissa, exponent)
    return kind, -value if negative else value, at


@inlined
def read_digits(text: Bytes, at: np.uint64, number: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Append the digits at `at` to the number; return it and where they end."""
    digit = np.uint64(text[at]) - ZERO
    while digit <= NINE:  # bytes below "0" have wrapped around
        number = number * TEN + digit
        at += ONE
        digit = np.uint64(text[at]) - ZERO
    return number, at


@inlined
def _read_many_digits(text: Bytes, at: np.uint64, stop: np.uint64) -> tuple[np.uint64, int, int]:
    """Return the first 19 significant digits as a number, its power of ten, and whether they are all."""
    mantissa = NONE
    exponent = 0
    kind = EXACT
    point = 0
    while at < stop:
        digit = np.uint64(text[at]) - ZERO
        at += ONE
        if digit > NINE:
            point = 1
        elif mantissa < ROOM:
            mantissa = mantissa * TEN + digit
            exponent -= point
        else:
            kind = kind if digit == NONE else ROUGH
            exponent += 1 - point
    return mantissa, exponent, kind


@inlined
def _read_exponent(text: Bytes, at: np.uint64) -> tuple[int, np.uint64]:
    """Return the power, and where it ends (0 if there is none)."""
    negative = text[at] == MINUS
    if negative or text[at] == PLUS:
        at += ONE
    start = at
    power = 0
    digit = np.uint64(text[at]) - ZERO
    while digit <= NINE:
        power = min(10 * power + int(digit), ENDLESS)
        at += ONE
        digit = np.uint64(text[at]) - ZERO
    return -power if negative else power, at if at > start else NONE


@inlined
def _scale(kind: int, mantissa: np.uint64, exponent: int) -> tuple[int, float]:
    if kind == NOT_A_NUMBER or mantissa == NONE:
        return kind, 0.0
    if kind == EXACT and mantissa <= LARGEST_EXACT and abs(exponent) < len(POWERS):
        if exponent < 0:
            return EXACT, float(mantissa) / POWERS[-exponent]
        return EXACT, float(mantissa) * POWERS[exponent]
    if abs(exponent) > REACH:
        return ROUGH, float(mantissa) * 10.0 ** float(exponent)
    value = nearest(mantissa, exponent)
    if kind == ROUGH and nearest(mantissa + ONE, exponent) == value:  # whatever the digits after the 19th are
        kind = EXACT
    return kind, value
