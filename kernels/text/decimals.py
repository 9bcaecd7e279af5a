"""The float nearest to `mantissa * 10^exponent`, exactly: the algorithm of Eisel and Lemire.

Lemire, *Number parsing at a gigabyte per second* (2021); that no case needs more than 128 bits of the power of five is
proved in Mushtak and Lemire, *Fast number parsing without fallback* (2023). Exponents are limited to REACH, where
every result is a normal float, so no end of the range needs special handling.
"""

import numpy as np

from kernels.compiler import inlined
from kernels.text.bits import float_of_bits, leading_zeros, upper_product

REACH = 280
ONE = np.uint64(1)
MANTISSA_BITS = np.uint64(52)
HIDDEN = np.uint64(1 << 52)
LOW_BITS = np.uint64((1 << 9) - 1)  # if all are 1, the lower word of the power of five may carry into the result
TIES = (-4, 23)  # only with these exponents can a product lie exactly between two floats

FIRST_EXACT = -27  # 5^27 is the last power of five that divides some number of 64 bits


def _power_of_five(exponent: int) -> int:
    """Return the leading 128 bits of 5^exponent, truncated; rounded up for the negative exponents that can be exact."""
    power = 5 ** abs(exponent)
    if exponent >= 0:
        return power << 128 >> power.bit_length()
    return (1 << (power.bit_length() + 127)) // power + (exponent >= FIRST_EXACT)


POWERS_OF_FIVE = np.array(
    [_power_of_five(q) >> shift & (1 << 64) - 1 for q in range(-REACH, REACH + 1) for shift in (64, 0)], np.uint64
)


@inlined
def nearest(mantissa: np.uint64, exponent: int) -> float:
    """Round to the nearest float, ties to even; the mantissa must not be 0, the exponent within REACH."""
    zeros = leading_zeros(mantissa)
    w = mantissa << zeros
    place = np.uint64(2 * (exponent + REACH))
    upper, lower = upper_product(w, POWERS_OF_FIVE[place]), w * POWERS_OF_FIVE[place]
    if upper & LOW_BITS == LOW_BITS:
        carried = upper_product(w, POWERS_OF_FIVE[place + ONE])
        lower += carried
        if lower < carried:
            upper += ONE
    upper_bit = upper >> np.uint64(63)
    shift = upper_bit + np.uint64(64 - 52 - 3)
    found = upper >> shift
    if lower <= ONE and TIES[0] <= exponent <= TIES[1] and found & np.uint64(3) == ONE and found << shift == upper:
        found &= ~ONE  # exactly between two floats: down to the even one
    found = (found + (found & ONE)) >> ONE
    # 217706 / 2^16 is log2(10), near enough for every exponent within reach.
    power = np.uint64(((217706 * exponent) >> 16) + 63 + 1023) + upper_bit - zeros
    if found >= HIDDEN + HIDDEN:  # rounding up has carried into the next power of two
        found = HIDDEN
        power += ONE
    return float_of_bits((found & ~HIDDEN) | (power << MANTISSA_BITS))
