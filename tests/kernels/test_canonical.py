import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from kernels.arrays import Floats, Keys
from kernels.examples.canonical import BUCKETS_AT_MOST, SHORT, canonical, canonical_batch

NONE = np.uint64(0)
BIAS = 1 << 62
Pairs = list[tuple[int, float]]

values = st.one_of(
    st.floats(-1e100, 1e100), st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5]), st.integers(-3, 3).map(float)
)
keys = st.one_of(st.integers(1, (1 << 64) - 1), st.integers(1, 20), st.just(BIAS), st.just((1 << 64) - 1))
examples = st.lists(st.tuples(keys, values), max_size=60)
without_duplicates = st.lists(st.tuples(keys, values), max_size=60, unique_by=lambda pair: pair[0])
around_the_ways_of_sorting = pytest.mark.parametrize(
    "count",
    [0, 1, 2, SHORT - 1, SHORT, SHORT + 1, 100, BUCKETS_AT_MOST - 1, BUCKETS_AT_MOST, BUCKETS_AT_MOST + 1, 10_000],
)


def arrays(pairs: Sequence[tuple[int, float]]) -> tuple[Keys, Floats]:
    return np.array([key for key, _ in pairs], np.uint64), np.array([value for _, value in pairs], np.float64)


def as_given(pairs: Sequence[tuple[int, float]], bias: int = 0) -> Pairs:
    """The canonical form without normalising."""
    return paired(*canonical(*arrays(pairs), False, np.uint64(bias)))


def scaled(pairs: Sequence[tuple[int, float]], bias: int = 0) -> Pairs:
    return paired(*canonical(*arrays(pairs), True, np.uint64(bias)))


def paired(found_keys: Keys, found_values: Floats) -> Pairs:
    return list(zip(found_keys.tolist(), found_values.tolist(), strict=True))


def plain(pairs: Sequence[tuple[int, float]]) -> Pairs:
    """Sorted, duplicates summed in the order given, zeros dropped."""
    sums: dict[int, float] = {}
    for key, value in pairs:
        sums[key] = sums[key] + value if key in sums else value
    return [(key, sums[key]) for key in sorted(sums) if sums[key] != 0.0]


def random_pairs(count: int, upper_bits: int = 64, seed: int = 1) -> Pairs:
    """Distinct or repeated keys with random lower bits, the upper ones being all the same."""
    rng = np.random.default_rng(seed)
    chosen = rng.integers(0, 1 << upper_bits, count, np.uint64) | np.uint64(1 << 63)
    return paired(chosen, rng.normal(size=count))


@given(pairs=examples)
def test_features_are_sorted_summed_and_without_zeros(pairs: Pairs) -> None:
    assert as_given(pairs) == plain(pairs)


@around_the_ways_of_sorting
def test_every_way_of_sorting_gives_the_same_form(count: int) -> None:
    pairs = random_pairs(count)
    assert as_given(pairs) == plain(pairs)


@around_the_ways_of_sorting
@pytest.mark.parametrize("lower_bits", [1, 8, 40])
def test_keys_that_share_their_upper_bits_are_sorted_too(count: int, lower_bits: int) -> None:
    pairs = random_pairs(count, lower_bits)
    assert as_given(pairs) == plain(pairs)


@pytest.mark.parametrize("count", [SHORT + 1, BUCKETS_AT_MOST, BUCKETS_AT_MOST + 1])
def test_keys_at_both_ends_are_sorted_too(count: int) -> None:
    chosen = [1 + i if i % 2 else (1 << 64) - 1 - i for i in range(count)]
    pairs = [(key, 1.0) for key in chosen]
    assert as_given(pairs) == plain(pairs)


@given(pairs=examples)
def test_scaling_divides_by_the_euclidean_norm(pairs: Pairs) -> None:
    assert_scaled(scaled(pairs), plain(pairs), tolerance=1e-15)


@around_the_ways_of_sorting
def test_scaling_is_exact_to_14_digits_for_examples_of_any_length(count: int) -> None:
    pairs = random_pairs(count)
    assert_scaled(scaled(pairs), plain(pairs), tolerance=1e-14)


@pytest.mark.parametrize("size", [1e-310, 1e-200, 1e-100, 1.0, 1e99])
def test_values_of_every_size_are_scaled_to_length_1(size: float) -> None:
    assert [value for _, value in scaled([(1, 3.0 * size), (2, -4.0 * size)])] == pytest.approx([0.6, -0.8])


@pytest.mark.parametrize("pairs", [[], [(1, 0.0)], [(1, 2.0), (1, -2.0)], [(7, -0.0), (9, 0.0)]])
def test_the_zero_vector_has_no_features(pairs: Pairs) -> None:
    assert scaled(pairs) == as_given(pairs) == []


def test_zeros_of_both_signs_are_dropped() -> None:
    assert as_given([(1, 0.0), (2, -0.0), (3, 4.0)]) == [(3, 4.0)]


@given(pairs=examples)
def test_no_value_is_zero_after_the_bias_was_added(pairs: Pairs) -> None:
    assert all(value != 0.0 for _, value in as_given(pairs, BIAS))


def test_no_value_is_zero_after_scaling() -> None:
    assert scaled([(1, 1e100), (2, 1e-300)]) == [(1, 1.0)]


@given(pairs=examples, bias=keys)
def test_the_bias_is_1_after_scaling_and_adds_to_a_feature_of_its_name(pairs: Pairs, bias: int) -> None:
    expected = plain([*scaled(pairs), (bias, 1.0)])
    assert [pair for pair in scaled(pairs, bias) if pair[1] != 0.0] == expected


def test_an_empty_example_may_have_a_bias() -> None:
    assert scaled([], BIAS) == [(BIAS, 1.0)]


@pytest.mark.parametrize("bias", [1, BIAS, (1 << 64) - 1])
def test_the_bias_is_inserted_in_order(bias: int) -> None:
    assert [key for key, _ in as_given([(5, 1.0), (1 << 63, 1.0)], bias)] == sorted([5, 1 << 63, bias])


@given(pairs=without_duplicates, seed=st.integers(0, 1000), l2=st.booleans())
def test_the_order_in_which_features_are_sent_changes_no_bit(pairs: Pairs, seed: int, l2: bool) -> None:
    order = np.random.default_rng(seed).permutation(len(pairs))
    shuffled = [pairs[i] for i in order]
    assert bits(*canonical(*arrays(pairs), l2, NONE)) == bits(*canonical(*arrays(shuffled), l2, NONE))


@around_the_ways_of_sorting
def test_the_order_changes_no_bit_of_long_examples(count: int) -> None:
    pairs = random_pairs(count)
    backwards = arrays(pairs[::-1])
    assert bits(*canonical(*arrays(pairs), True, NONE)) == bits(*canonical(*backwards, True, NONE))


@given(batch=st.lists(examples, max_size=8), l2=st.booleans(), bias=st.sampled_from([0, BIAS, 5]))
def test_a_batch_is_bit_for_bit_its_examples_one_by_one(batch: list[Pairs], l2: bool, bias: int) -> None:
    starts, all_keys, all_values = in_csr(batch)
    out_starts, out_keys, out_values = canonical_batch(starts, all_keys, all_values, l2, np.uint64(bias))
    found = [bits(out_keys[a:b], out_values[a:b]) for a, b in pairwise(out_starts)]
    assert found == [bits(*canonical(*arrays(pairs), l2, np.uint64(bias))) for pairs in batch]


def test_a_batch_may_begin_anywhere_in_its_arrays() -> None:
    starts, all_keys, all_values = in_csr([[(9, 9.0)], [(2, 1.0), (1, 1.0)]])
    _, out_keys, _ = canonical_batch(starts[1:], all_keys, all_values, False, NONE)
    assert out_keys.tolist() == [1, 2]


def test_a_batch_of_long_examples_is_its_examples_one_by_one() -> None:
    batch = [random_pairs(count, 20, seed=count) for count in (0, 5000, 1, 30, 4096, 24)]
    starts, all_keys, all_values = in_csr(batch)
    out_starts, out_keys, out_values = canonical_batch(starts, all_keys, all_values, True, np.uint64(BIAS))
    found = [bits(out_keys[a:b], out_values[a:b]) for a, b in pairwise(out_starts)]
    assert found == [bits(*canonical(*arrays(pairs), True, np.uint64(BIAS))) for pairs in batch]


@given(pairs=examples)
def test_the_arrays_given_are_not_changed(pairs: Pairs) -> None:
    given_keys, given_values = arrays(pairs)
    before = bits(given_keys, given_values)
    canonical(given_keys, given_values, True, np.uint64(BIAS))
    assert bits(given_keys, given_values) == before


def assert_scaled(found: Pairs, given_pairs: Pairs, tolerance: float) -> None:
    """Compare all values but those that underflow beside the largest."""
    norm = math.hypot(*(value for _, value in given_pairs))
    found, expected = visible(found), visible([(key, value / norm) for key, value in given_pairs])
    assert [key for key, _ in found] == [key for key, _ in expected]
    assert [value for _, value in found] == pytest.approx([value for _, value in expected], rel=tolerance, abs=0.0)


def visible(pairs: Pairs) -> Pairs:
    return [(key, value) for key, value in pairs if abs(value) > 1e-300]


def in_csr(batch: list[Pairs]) -> tuple[NDArray[np.int64], Keys, Floats]:
    starts = np.cumsum([0, *map(len, batch)])
    return starts, *arrays([pair for pairs in batch for pair in pairs])


def bits(found_keys: Keys, found_values: Floats) -> tuple[bytes, bytes]:
    return found_keys.tobytes(), found_values.tobytes()
