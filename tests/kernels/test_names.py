"""Names in arrays: finding keys, merging, cutting by ranges of keys."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kernels.arrays import Keys
from kernels.table.layout import range_starts
from kernels.table.names import find_unknown, merge_names

any_key = st.one_of(st.integers(1, 20), st.integers(1, 2**64 - 1), st.integers(2**64 - 20, 2**64 - 1))
key_sets = st.sets(any_key, max_size=60)
tables = st.dictionaries(any_key, st.binary(max_size=6), max_size=40)


def in_order(keys: set[int]) -> Keys:
    return np.array(sorted(keys), np.uint64)


@given(held=key_sets, asked=st.lists(any_key, max_size=60))
def test_the_keys_that_are_not_held_are_found(held: set[int], asked: list[int]) -> None:
    places = np.empty(len(asked), np.int64)
    count = find_unknown(in_order(held), np.array(asked, np.uint64), places)
    assert places[:count].tolist() == [place for place, key in enumerate(asked) if key not in held]


def test_every_key_of_a_large_run_is_found() -> None:
    held = np.unique(np.random.default_rng(0).integers(1, 2**64 - 1, size=50_000, dtype=np.uint64))
    assert find_unknown(held, held, np.empty(held.size, np.int64)) == 0
    assert find_unknown(held, held + np.uint64(1), np.empty(held.size, np.int64)) == held.size


@given(first=tables, second=tables)
def test_merging_two_runs_is_uniting_two_dicts(first: dict[int, bytes], second: dict[int, bytes]) -> None:
    second = {key: name for key, name in second.items() if key not in first}
    size, letters = len(first) + len(second), sum(map(len, [*first.values(), *second.values()]))
    keys, ends, text = np.zeros(size, np.uint64), np.zeros(size, np.uint32), np.zeros(letters, np.uint8)
    merge_names(*arrays(first), *arrays(second), keys, ends, text)
    assert as_dict(keys, ends, text) == first | second
    assert keys.tolist() == sorted(first | second)


@given(keys=key_sets, bits=st.integers(1, 5), width=st.integers(1, 3), descending=st.booleans())
def test_ranges_hold_the_keys_with_their_upper_bits(keys: set[int], bits: int, width: int, descending: bool) -> None:
    ordered = sorted(keys, reverse=descending)
    rows = np.zeros(width * len(keys), np.uint64)
    rows[::width] = ordered
    starts = np.empty(1 << bits, np.int64)
    flip = 2**64 - 1 if descending else 0
    range_starts(rows, width, np.uint64(flip), 64 - bits, starts)
    cuts = [*starts.tolist(), len(keys)]
    for number in range(1 << bits):
        found = ordered[cuts[number] : cuts[number + 1]]
        assert found == [key for key in ordered if (key ^ flip) >> (64 - bits) == number]


def arrays(names: dict[int, bytes]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    ordered = sorted(names.items())
    ends = np.cumsum([len(name) for _, name in ordered], dtype=np.uint32)
    text = np.frombuffer(bytearray(b"".join(name for _, name in ordered)), np.uint8)
    return np.array([key for key, _ in ordered], np.uint64), ends, text


def as_dict(keys: np.ndarray, ends: np.ndarray, text: np.ndarray) -> dict[int, bytes]:
    letters, stops = text.tobytes(), ends.tolist()
    starts = [0, *stops]
    return {key: letters[starts[k] : stops[k]] for k, key in enumerate(keys.tolist())}
