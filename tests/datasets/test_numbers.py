import struct

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kernels.text.numbers import EXACT, NOT_A_NUMBER, ROUGH, read_number

fixed_seed = settings(derandomize=True, deadline=None, max_examples=300)


def read(number: str) -> tuple[int, float, int]:
    kind, value, end = read_number(np.frombuffer(number.encode() + b"\n", np.uint8), np.uint64(0))
    return kind, value, int(end)


def bits(value: float) -> bytes:
    return struct.pack("<d", value)


decimals = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "+", "-"]),
    st.integers(0, 10**24),
    st.one_of(st.just(""), st.integers(0, 10**30).map(".{}".format)),
    st.one_of(st.just(""), st.integers(-40, 40).map("e{}".format), st.integers(0, 40).map("E+{:03}".format)),
)


@fixed_seed
@given(number=decimals)
@example(number="9007199254740993")  # 2^53 + 1: a tie
@example(number="0.1000000000000000055511151231257827021181583404541015625")
@example(number="18014398509481990.00001")  # just above a tie
@example(number="18014398509482010.00001")
@example(number="100000000000000000000000e-23")
@example(number="8.5e-22")
@example(number="-0")
@example(number=".5")
@example(number="5.")
def test_an_exact_number_is_the_float_that_python_reads(number: str) -> None:
    kind, value, end = read(number)
    assert end == len(number)
    assert kind == ROUGH or (kind == EXACT and bits(value) == bits(float(number)))
    assert value == pytest.approx(float(number), rel=1e-12)


@fixed_seed
@given(value=st.floats(min_value=1e-7, max_value=1e15), digits=st.integers(1, 15))
def test_numbers_of_up_to_15_digits_are_exact(value: float, digits: int) -> None:
    number = f"{value:.{digits}g}"
    kind, read_value, _ = read(number)
    assert (kind, bits(read_value)) == (EXACT, bits(float(number)))


@pytest.mark.parametrize("zeros", [0, 5, 30, 400])
def test_trailing_zeros_do_not_lose_precision(zeros: int) -> None:
    assert read("0.25" + zeros * "0")[:2] == (EXACT, 0.25)


@pytest.mark.parametrize("number", ["1e999999999999999999999", "1" + 400 * "0", "1" + 2000 * "0" + "e-100"])
def test_a_number_beyond_the_range_of_floats_is_large(number: str) -> None:
    kind, value, _ = read(number)
    assert kind == ROUGH
    assert value > 1e300


@pytest.mark.parametrize("number", ["1" + 5000 * "0" + "e-5000", "0." + 5000 * "0" + "1e5001"])
def test_digits_and_exponent_make_up_for_each_other(number: str) -> None:
    assert read(number)[:2] == (EXACT, 1.0)


@pytest.mark.parametrize("number", ["", "+", "-", ".", "-.", "e5", "1e", "1e+", ".e1", "nan", "inf", "-inf", "x"])
def test_invalid_numbers_are_detected(number: str) -> None:
    assert read(number)[0] == NOT_A_NUMBER


@pytest.mark.parametrize(
    ("number", "end"), [("1_0", 1), ("0x1", 1), ("1,5", 1), ("1.5.5", 3), ("1e5e5", 3), ("--1", 1)]
)
def test_reading_ends_where_the_number_does(number: str, end: int) -> None:
    assert read(number)[2] == end
