"""Rounding to the nearest float, against Python's own."""

import struct
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.text.decimals import REACH, nearest

most = settings(max_examples=1000)
mantissas = st.integers(1, 2**64 - 1)
exponents = st.integers(-REACH, REACH)


def bits(value: float) -> bytes:
    return struct.pack("<d", value)


def assert_nearest(mantissa: int, exponent: int) -> None:
    assert bits(nearest(np.uint64(mantissa), exponent)) == bits(float(f"{mantissa}e{exponent}"))


@most
@given(mantissas, exponents)
def test_the_nearest_float_is_found(mantissa: int, exponent: int) -> None:
    assert_nearest(mantissa, exponent)


@most
@given(st.floats(1e-260, 1e260))
def test_the_shortest_repr_of_a_float_is_parsed_to_the_same_float(value: float) -> None:
    digits, _, power = f"{value:.16e}".partition("e")
    assert nearest(np.uint64(int(digits.replace(".", ""))), int(power) - 16) == value


@most
@given(st.integers(2**52, 2**53 - 1), st.integers(0, 10), st.integers(-1, 1))
def test_numbers_between_two_floats_are_rounded_to_nearest_even(half: int, doublings: int, off: int) -> None:
    assert_nearest((2 * half + 1) * 2**doublings + off, 0)


@most
@given(st.integers(2**52, 2**53 - 1), st.integers(1, 23))
def test_ties_with_a_power_of_ten_are_found(odd: int, power: int) -> None:
    tie = Fraction(2 * odd + 1) * 2**power
    for mantissa, exponent in ((tie / 10**power, power), (tie / 2**power * 10, -1)):
        if mantissa.denominator == 1 and mantissa < 2**64:
            assert_nearest(int(mantissa), exponent)


@pytest.mark.parametrize("exponent", [-REACH, -28, -27, -5, -4, -1, 0, 1, 22, 23, 24, 55, 56, REACH])
@pytest.mark.parametrize("mantissa", [1, 2, 3, 2**53 - 1, 2**53, 2**53 + 1, 2**63, 2**64 - 1])
def test_the_limits_of_every_case_are_right(mantissa: int, exponent: int) -> None:
    assert_nearest(mantissa, exponent)
