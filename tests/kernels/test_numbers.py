import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.learning.config import config_of
from app.learning.parts.numbers import Numbers
from kernels.arrays import Floats, Ints, Keys
from kernels.examples import numbers as kernel
from kernels.examples.canonical import canonical_batch
from kernels.learner import options, totals
from tests.reference import numbers as reference

Pairs = list[tuple[int, float]]
SETTINGS = config_of({}).settings()
SPECIAL = [0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 2.2e-308, 1e100, -1e100, 2.0**-32, 2.0**64, 293.0, 1.5, 0.999, 1024.0]

values = st.one_of(
    st.floats(-1e100, 1e100), st.sampled_from(SPECIAL), st.floats(289.0, 297.0), st.integers(-5, 5).map(float)
)
keys = st.one_of(st.integers(1, 12), st.integers(1, (1 << 64) - 1))
examples = st.lists(st.tuples(keys, values), max_size=40)
streams = st.lists(st.tuples(examples, st.integers(0, 40)), max_size=20)


def batch_of(stream: list[tuple[Pairs, int]]) -> tuple[Ints, Keys, Floats, Ints]:
    starts = np.cumsum([0, *(len(example) for example, _ in stream)])
    pairs = [pair for example, _ in stream for pair in example]
    given_counts = np.array([min(count, len(example)) for example, count in stream], np.int64)
    return starts, np.array([k for k, _ in pairs], np.uint64), np.array([v for _, v in pairs], np.float64), given_counts


def split(starts: Ints, found: Keys, shares: Floats) -> list[Pairs]:
    pairs = list(zip(found.tolist(), shares.tolist(), strict=True))
    return [pairs[starts[i] : starts[i + 1]] for i in range(starts.size - 1)]


def bits(encoded: list[Pairs]) -> list[list[tuple[int, str]]]:
    return [[(key, value.hex()) for key, value in example] for example in encoded]


@given(streams)
def test_the_kernel_agrees_with_the_slow_twin_bit_for_bit(stream: list[tuple[Pairs, int]]) -> None:
    numbers, twin = Numbers(), reference.Numbers()
    starts, found, shares, counts = batch_of(stream)
    expected = []
    for (example, _), count in zip(stream, counts.tolist(), strict=True):
        expected.append(twin.encode(example, count))
        twin.learn(example, count)
    assert bits(split(*numbers.encode_and_count(starts, found, shares, counts, SETTINGS))) == bits(expected)
    rows = {int(row[:1].view(np.uint64)[0]): tuple(row[1:].tolist()) for row in numbers.rows()}
    assert rows == twin.statistics
    again = [twin.encode(example, count) for (example, _), count in zip(stream, counts.tolist(), strict=True)]
    assert bits(split(*numbers.encode_all(starts, found, shares, counts))) == bits(again)


@given(streams, st.booleans(), st.sampled_from([0, 77]))
def test_one_example_gives_the_canonical_form_of_a_batch(
    stream: list[tuple[Pairs, int]], l2: bool, bias_key: int
) -> None:
    one_by_one, together, bias = Numbers(), Numbers(), np.uint64(bias_key)
    starts, found, shares, counts = batch_of(stream)
    encoded = canonical_batch(*together.encode_and_count(starts, found, shares, counts, SETTINGS), l2, bias)
    for i, wanted in enumerate(split(*encoded)):
        place = slice(starts[i], starts[i + 1])
        example = found[place], shares[place], int(counts[i])
        seen = kernel.encode_one(*example, one_by_one.memory.rows, one_by_one.tally, l2, bias)
        while True:
            learnt = kernel.encode_and_count_one(*example, one_by_one.memory.rows, one_by_one.tally, SETTINGS, l2, bias)
            if one_by_one.tally[totals.OUTCOME] != totals.TABLE_FULL:
                break
            one_by_one.grow()
        for got in (seen, learnt):
            assert bits([list(zip(got[0].tolist(), got[1].tolist(), strict=True))]) == bits([wanted])
    assert one_by_one.rows().tobytes() == together.rows().tobytes()
    assert one_by_one.bits == together.bits


def test_many_numeric_features_make_the_table_grow() -> None:
    numbers, twin = Numbers(), reference.Numbers()
    rng = np.random.default_rng(1)
    pairs = list(zip(rng.integers(1, 1 << 62, 3000).tolist(), rng.lognormal(3.0, 4.0, 3000).tolist(), strict=True))
    stream = [(pairs[k : k + 100], 100) for k in range(0, 3000, 50)]
    starts, found, shares, counts = batch_of(stream)
    expected = []
    for (example, _), count in zip(stream, counts.tolist(), strict=True):
        expected.append(twin.encode(example, count))
        twin.learn(example, count)
    assert bits(split(*numbers.encode_and_count(starts, found, shares, counts, SETTINGS))) == bits(expected)
    assert len(numbers.rows()) == 3000


def test_statistics_are_kept_of_no_more_features_than_allowed() -> None:
    settings = SETTINGS.copy()
    settings[options.LIMIT] = 2.0
    numbers = Numbers()
    stream = [([(7, 5.0), (8, 6.0), (9, 7.0)], 3)] * 5
    encoded = split(*numbers.encode_and_count(*batch_of(stream), settings))
    assert len(numbers.rows()) == 2
    assert numbers.rows()[:, 1].tolist() == [5.0, 5.0]
    assert len(encoded[-1]) == len(encoded[0])  # equal values have no deviation


def test_a_variance_that_underflows_gives_no_deviation() -> None:
    values_seen = [1e-162, 3e-162, 2e-162, 2e-162, 2e-162]
    starts, found, shares, counts = batch_of([([(5, value)], 1) for value in values_seen])
    encoded_values = Numbers().encode_and_count(starts, found, shares, counts, SETTINGS)[2]
    assert np.isfinite(encoded_values).all()


@given(st.integers(1, (1 << 64) - 1), st.integers(0, 4095))
def test_the_name_of_a_bin_is_found_from_its_key(key: int, number: int) -> None:
    (kind, sign), place = divmod(number // 512, 2), number % 512
    found = np.empty(1, np.uint64)
    kernel.names_of_bin(np.uint64(reference.bin_key(key, kind, sign, place)), np.array([number], np.uint64), found)
    assert int(found[0]) == key


@pytest.mark.parametrize("value", [3.7, -250.0, 1e-3, 1e9])
def test_another_unit_moves_a_number_to_other_bins_of_the_same_sizes(value: float) -> None:
    one, other = (encoded(each)[1] for each in (value, 1024.0 * value))
    if abs(value) >= 1.0:
        assert one.tolist() == other.tolist()
    assert np.isclose(one[1:3].sum() / one[3:5].sum(), 1.0)


def test_a_border_between_two_bins_is_no_step() -> None:
    below, at = encoded(float(np.nextafter(64.0, 0.0))), encoded(64.0)
    near = dict(zip(below[0].tolist(), below[1].tolist(), strict=True))
    for key, share in zip(at[0].tolist(), at[1].tolist(), strict=True):
        assert near[key] == pytest.approx(share)


def encoded(value: float) -> tuple[Keys, Floats]:
    """One number alone, by empty statistics."""
    starts, found, shares, counts = batch_of([([(5, value)], 1)])
    return Numbers().encode_all(starts, found, shares, counts)[1:]
