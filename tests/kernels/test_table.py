"""The feature table against a dict, and its layout against the definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.learner.totals import FEATURES, OUTCOME, TABLE_FULL
from kernels.table.layout import fits, pack, spread
from kernels.table.rows import find, gather, spare
from tests.kernels.lanes import in_lanes
from tests.kernels.tables import (
    LARGEST_KEY,
    Table,
    array_of,
    content,
    example,
    fsol,
    fsol_with,
    is_laid_out,
    keys_of,
    memory_of,
    packed,
    random_keys,
)

# Anywhere, at both ends of the table, and crowded around one home slot; too few to overflow anything.
any_key = st.one_of(
    st.integers(1, LARGEST_KEY),
    st.integers(1, 50),
    st.integers(LARGEST_KEY - 50, LARGEST_KEY),
    st.integers(1 << 63, (1 << 63) + 50),
)
many_keys = st.builds(random_keys, st.integers(0, 100), st.integers(50, 400))  # enough to grow, more than once
key_lists = st.one_of(st.lists(any_key, max_size=60, unique=True), many_keys)
few_keys = st.lists(any_key, max_size=45, unique=True)

Step = tuple[list[int], float, int]
learning = st.tuples(key_lists, st.sampled_from([0.125, 1.0, 3.0]), st.sampled_from([1, -1]))
removing = st.tuples(st.just(list[int]()), st.sampled_from([0.0, 0.125, 1.0, 100.0]), st.just(0))
histories = st.lists(st.one_of(learning, learning, learning, removing), max_size=12)


class Twin:
    """FSOL without a threshold, in a dict."""

    def __init__(self) -> None:
        self.theta: dict[int, float] = {}

    def learn(self, keys: list[int], value: float, label: int) -> float:
        score = in_lanes([self.theta.get(key, 0.0) * value for key in sorted(keys)])
        step = label * value if label * score < 1.0 else 0.0
        self.theta.update({key: self.theta.get(key, 0.0) + step for key in keys})
        return score

    def remove(self, at_most: float) -> int:
        gone = [key for key, theta in self.theta.items() if abs(theta) <= at_most]
        self.theta = {key: self.theta[key] for key in self.theta.keys() - gone}
        return len(gone)


@given(history=histories)
def test_a_table_answers_as_a_dict_would(history: list[Step]) -> None:
    model, twin = fsol(), Twin()
    for keys, size, label in history:
        if label:
            assert model.learn(example(keys, size), label) == twin.learn(keys, size, label)
        else:
            assert model.remove(size, size) == twin.remove(size)
    assert content(model) == {key: (theta,) for key, theta in twin.theta.items()}


@given(history=histories)
def test_after_every_step_the_memory_follows_from_rows_and_size(history: list[Step]) -> None:
    model = fsol()
    for keys, size, label in history:
        if label:
            model.learn(example(keys, size), label)
        else:
            model.remove(size, size)
        assert is_laid_out(model)
        assert model.features == len(content(model))


@given(keys=key_lists, seed=st.integers(0, 1000))
def test_the_order_of_insertion_does_not_matter(keys: list[int], seed: int) -> None:
    shuffled = np.random.default_rng(seed).permutation(array_of(keys)).tolist()
    assert fsol_with(keys).memory.rows.tobytes() == fsol_with(shuffled).memory.rows.tobytes()


@pytest.mark.parametrize("count", [51, 52, 103, 700, 5000])
def test_one_large_example_or_many_small_ones_make_the_same_table(count: int) -> None:
    keys, model = random_keys(1, count), fsol()
    model.learn(example(keys), 1)
    assert model.memory.rows.tobytes() == fsol_with(keys).memory.rows.tobytes()


@given(keys=few_keys, late=st.integers(7, 10))
def test_growing_early_or_late_makes_the_same_table(keys: list[int], late: int) -> None:
    grown, large = Table(6), Table(late)
    assert grown.enter(keys)[0]
    assert large.enter(keys)[0]
    grown.rows = np.concatenate([grown.rows, np.zeros(large.rows.size - grown.rows.size)])
    spread(grown.rows, Table.WIDTH, pack(grown.rows, Table.WIDTH, np.empty(0, np.uint8)), late)
    assert grown.rows.tobytes() == large.rows.tobytes()


@pytest.mark.parametrize(
    ("staying", "going"),
    [(700, 100), (300, 5000), (40, 5000), (0, 1000), (3000, 1), (40, 200_000), (100_000, 200_000)],
)
def test_removing_features_keeps_the_others(staying: int, going: int) -> None:
    keys, model = random_keys(2, staying + going), fsol()
    model.learn(example(keys[staying:], 0.01), 1)
    model.learn(example(keys[:staying]), 1)
    assert model.remove(0.5, 0.5) == going
    assert content(model) == dict.fromkeys(keys[:staying], (1.0,))
    assert is_laid_out(model)


def test_a_table_after_removal_equals_one_that_never_had_the_features() -> None:
    keys, model = random_keys(3, 800), fsol()
    model.learn(example(keys[700:], 0.01), 1)
    model.learn(example(keys[:700]), 1)
    model.remove(0.5, 0.5)
    assert model.memory.rows.tobytes() == fsol_with(keys[:700]).memory.rows.tobytes()


def test_a_table_without_most_of_its_features_frees_memory() -> None:
    keys, model = random_keys(3, 20_000), fsol()
    model.learn(example(keys[100:], 0.01), 1)
    model.learn(example(keys[:100]), 1)
    before = model.bytes
    model.remove(0.5, 0.5)
    assert model.bytes < before / 20


def test_removing_from_an_empty_table_removes_nothing() -> None:
    assert fsol().remove(1.0, 1.0) == 0


@given(keys=key_lists)
def test_rows_are_in_descending_order_of_their_keys(keys: list[int]) -> None:
    model = fsol_with(keys)
    found = keys_of(np.concatenate([np.empty((0, 2)), *model.rows()])).tolist()
    assert found == sorted(keys, reverse=True)


@given(keys=few_keys, others=few_keys)
def test_every_key_is_found_and_no_other(keys: list[int], others: list[int]) -> None:
    table = Table(6)
    table.enter(keys)
    view = table.rows.view(np.uint64)
    found = {key for key in keys + others if view[find(view, np.uint64(3), np.uint64(58), np.uint64(key))] == key}
    assert found == set(keys)


@given(keys=few_keys, others=few_keys)
def test_gathering_counts_the_unknown_and_gives_them_a_fresh_state_and_the_sink(
    keys: list[int], others: list[int]
) -> None:
    table = Table(6)
    table.enter(keys)
    table.rows[1::3] = 7.0
    asked = np.sort(array_of({*keys, *others}))
    slots, states = np.zeros(asked.size, np.uint64), np.zeros((2, asked.size))
    unknown = gather(table.rows, table.totals, asked, 0, asked.size, slots, states, Table.FRESH)
    assert unknown == len(set(others) - set(keys))
    assert states[0].tolist() == [7.0 if key in set(keys) else Table.FRESH[0] for key in asked.tolist()]
    assert [slot == table.rows.size - 3 for slot in slots] == [key not in set(keys) for key in asked.tolist()]


@given(keys=key_lists)
def test_the_sink_never_gets_a_key(keys: list[int]) -> None:
    model = fsol_with(keys)
    assert model.memory.rows[-model.width] == 0.0


def test_keys_at_both_ends_of_the_table_have_room() -> None:
    keys = [*range(1, 26), *range(LARGEST_KEY - 25, LARGEST_KEY + 1)]
    table = Table(6)
    assert table.enter(keys)[0]
    assert keys_of(packed(table.rows, Table.WIDTH)).tolist() == sorted(keys, reverse=True)


def test_a_table_must_grow_at_four_fifths() -> None:
    keys, table = random_keys(4, 52), Table(6)
    assert table.enter(keys[:51])[0]
    assert not table.enter(keys[51:])[0]
    assert table.totals[OUTCOME] == TABLE_FULL


def test_rows_inserted_before_the_table_was_full_are_not_inserted_twice() -> None:
    keys, model = random_keys(5, 1000), fsol()
    model.learn(example(keys), 1)
    assert model.tally[FEATURES] == len(content(model)) == 1000


@pytest.mark.parametrize("bits", [6, 7, 8, 13])
def test_rows_fit_if_and_only_if_the_spare_slots_hold_the_overflow(bits: int) -> None:
    room = spare(bits)
    exactly, model = range(1, room + 2), Table(14)
    for key in exactly:
        model.enter([key])
    slots = (1 << bits) + room
    assert fits(model.rows, 3, bits, slots)
    model.enter([room + 2])
    assert not fits(model.rows, 3, bits, slots)


def test_the_memory_of_two_tables_differs_where_their_keys_do() -> None:
    a, b = fsol_with([1, 2, 3]), fsol_with([1, 2, 4])
    assert memory_of(a.memory.rows, 2) != memory_of(b.memory.rows, 2)
