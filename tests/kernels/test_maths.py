import math
from functools import reduce
from inspect import unwrap
from itertools import pairwise
from operator import add

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kernels.learner.maths import LARGEST, SQRT_HALF, dot, exponential, logarithm, logistic, soft, squared_norm
from tests.kernels.lanes import in_lanes

numbers = st.floats(-1e100, 1e100)
sizes = st.floats(0.0, 1e100)


def ulps_between(a: float, b: float) -> float:
    return abs(a - b) / math.ulp(max(abs(a), abs(b)))


@given(x=st.floats(-LARGEST, LARGEST))
@example(x=LARGEST)
@example(x=-LARGEST)
@example(x=0.5 * math.log(2.0))
@example(x=-0.5 * math.log(2.0))
@example(x=5e-324)
def test_the_exponential_is_within_2_ulps_of_the_c_library(x: float) -> None:
    assert ulps_between(exponential(x), math.exp(x)) <= 2.0


def test_the_exponential_is_within_2_ulps_on_a_fine_grid() -> None:
    grid = np.concatenate([np.linspace(-LARGEST, LARGEST, 50_001), np.linspace(-2.0, 2.0, 50_001)]).tolist()
    assert max(ulps_between(exponential(x), math.exp(x)) for x in grid) <= 2.0


def test_the_exponential_grows_also_where_its_power_of_two_changes() -> None:
    changes = [(k + 0.5) * math.log(2.0) for k in range(-1000, 1000)]
    around = [change + step * 1e-14 * abs(change) for change in changes for step in range(-3, 4)]
    found = [exponential(x) for x in around]
    assert all(a <= b for a, b in pairwise(found))


@given(a=st.floats(-LARGEST, LARGEST), b=st.floats(-LARGEST, LARGEST))
def test_the_exponential_is_monotone(a: float, b: float) -> None:
    assert exponential(min(a, b)) <= exponential(max(a, b))


def test_the_exponential_of_0_is_1() -> None:
    assert exponential(0.0) == exponential(-0.0) == 1.0


@pytest.mark.parametrize("x", [LARGEST, 1e3, 1e300, math.inf])
def test_the_exponential_never_overflows_or_underflows(x: float) -> None:
    assert exponential(x) == exponential(LARGEST) < math.inf
    assert exponential(-x) == exponential(-LARGEST) > 0.0


@pytest.mark.parametrize(
    ("x", "bits"),
    [
        (1.0, "0x1.5bf0a8b14576ap+1"),
        (-1.0, "0x1.78b56362cef38p-2"),
        (10.0, "0x1.5829dcf950560p+14"),
        (-123.456, "0x1.da9fb9e4ee720p-179"),
        (699.0, "0x1.5c36fb1036d55p+1008"),
    ],
)
def test_the_exponential_has_the_same_bits_on_every_machine(x: float, bits: str) -> None:
    assert exponential(x).hex() == bits


@given(x=st.floats(-LARGEST, LARGEST))
def test_compiling_changes_no_bit_of_the_exponential(x: float) -> None:
    assert exponential(x) == unwrap(exponential)(x)


@given(x=st.floats(1e-300, 1e300))
@example(x=SQRT_HALF)
@example(x=math.nextafter(SQRT_HALF, 0.0))
@example(x=math.nextafter(1.0, 0.0))
@example(x=math.nextafter(1.0, 2.0))
def test_the_logarithm_is_within_4_ulps_of_the_c_library(x: float) -> None:
    assert ulps_between(logarithm(x), math.log(x)) <= 4.0


def test_the_logarithm_is_within_4_ulps_on_a_fine_grid() -> None:
    grid = np.concatenate([np.linspace(0.4, 2.5, 50_001), np.geomspace(1.5, 1e12, 50_001)]).tolist()
    assert max(ulps_between(logarithm(x), math.log(x)) for x in grid if x != 1.0) <= 4.0


def test_the_logarithm_of_1_is_0() -> None:
    assert logarithm(1.0) == 0.0


@pytest.mark.parametrize(
    ("x", "bits"),
    [
        (2.0, "0x1.62e42fefa39efp-1"),
        (0.1, "-0x1.26bb1bbb55515p+1"),
        (12345.678, "0x1.2d79559791e31p+3"),
        (1e300, "0x1.5963447f87fb5p+9"),
    ],
)
def test_the_logarithm_has_the_same_bits_on_every_machine(x: float, bits: str) -> None:
    assert logarithm(x).hex() == bits


@given(x=st.floats(1e-300, 1e300))
def test_compiling_changes_no_bit_of_the_logarithm(x: float) -> None:
    assert logarithm(x) == unwrap(logarithm)(x)


@given(x=st.floats(-LARGEST, LARGEST))
def test_the_logistic_function_lies_between_0_and_1(x: float) -> None:
    assert 0.0 < logistic(x) <= 1.0


@given(x=st.floats(-30.0, 30.0))
def test_the_logistic_function_is_what_its_formula_says(x: float) -> None:
    assert logistic(x) == pytest.approx(1.0 / (1.0 + math.exp(-x)), rel=1e-15)


@given(x=st.floats(-LARGEST, LARGEST))
def test_the_logistic_function_of_both_signs_adds_up_to_1(x: float) -> None:
    assert logistic(x) + logistic(-x) == pytest.approx(1.0, rel=1e-15)


@pytest.mark.parametrize(("x", "limit"), [(0.0, 0.5), (1e308, 1.0), (math.inf, 1.0)])
def test_the_logistic_function_has_its_limits(x: float, limit: float) -> None:
    assert logistic(x) == limit


@pytest.mark.parametrize("x", [-1e308, -math.inf])
def test_the_logistic_function_is_next_to_0_for_the_smallest_numbers(x: float) -> None:
    assert 0.0 < logistic(x) < 1e-300


@given(pairs=st.lists(st.tuples(numbers, numbers), max_size=40))
def test_the_dot_product_adds_in_four_lanes_in_one_fixed_order(pairs: list[tuple[float, float]]) -> None:
    weights, x = np.array(pairs).reshape(-1, 2).T.copy()
    assert dot(np.stack([x, weights]), 1, x) == in_lanes([weight * value for weight, value in pairs])


@given(pairs=st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3)), max_size=40))
def test_the_dot_product_is_near_the_exact_one(pairs: list[tuple[float, float]]) -> None:
    weights, x = np.array(pairs).reshape(-1, 2).T.copy()
    exact = math.fsum(weight * value for weight, value in pairs)
    size = math.fsum(abs(weight * value) for weight, value in pairs)
    assert dot(np.stack([x, weights]), 1, x) == pytest.approx(exact, rel=0.0, abs=1e-15 * size + 1e-300)


def test_the_dot_product_does_not_depend_on_alignment() -> None:
    rng = np.random.default_rng(3)
    work, x, room = rng.normal(size=(2, 101)), rng.normal(size=101), np.zeros(120)
    found = set()
    for start in range(16):
        room[start : start + 101] = x
        found.add(dot(work, 1, room[start : start + 101]))
    assert len(found) == 1


@given(x=st.lists(numbers, max_size=40))
def test_the_squared_norm_is_one_chain_of_additions(x: list[float]) -> None:
    assert squared_norm(np.array(x)) == reduce(add, (value * value for value in x), 0.0)


@given(value=numbers, threshold=sizes)
def test_the_soft_threshold_is_what_its_formula_says(value: float, threshold: float) -> None:
    assert soft(value, threshold) == math.copysign(max(abs(value) - threshold, 0.0), value)


@given(value=numbers)
def test_the_soft_threshold_0_changes_nothing(value: float) -> None:
    assert soft(value, 0.0) == value


@given(value=numbers, threshold=sizes)
def test_the_soft_threshold_is_odd(value: float, threshold: float) -> None:
    assert soft(-value, threshold) == -soft(value, threshold)


@given(size=sizes, more=sizes)
def test_values_up_to_the_threshold_become_0(size: float, more: float) -> None:
    assert soft(size, size + more) == soft(-size, size + more) == 0.0
