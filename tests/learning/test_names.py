import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.learning.parts import names as module
from app.learning.parts.names import BIAS_KEY, BIAS_NAME, Names, Run
from kernels.arrays import Keys
from kernels.feature_hash import key_of

pairs = st.lists(st.tuples(st.integers(1, 30), st.text(min_size=1, max_size=5)), max_size=40)


def names_of(given_pairs: list[tuple[int, str]], at_most: int) -> Names:
    names = Names(at_most)
    for key, name in given_pairs:
        names.remember([key], [name])
    return names


@given(given_pairs=pairs, at_most=st.integers(0, 20))
def test_the_first_name_of_each_of_the_first_keys_is_kept(given_pairs: list[tuple[int, str]], at_most: int) -> None:
    expected: dict[int, str] = {}
    for key, name in given_pairs:
        if len(expected) < at_most:
            expected.setdefault(key, name)
    assert list(names_of(given_pairs, at_most)) == sorted(expected.items())


@given(given_pairs=pairs, at_most=st.integers(0, 20))
def test_adding_many_equals_one_by_one(given_pairs: list[tuple[int, str]], at_most: int) -> None:
    together = Names(at_most)
    together.remember([key for key, _ in given_pairs], [name for _, name in given_pairs])
    assert list(together) == list(names_of(given_pairs, at_most))


@given(given_pairs=pairs, at_most=st.integers(0, 20))
def test_there_are_never_more_names_than_allowed(given_pairs: list[tuple[int, str]], at_most: int) -> None:
    assert len(names_of(given_pairs, at_most)) <= at_most


def test_a_known_key_has_its_name() -> None:
    assert names_of([(5, "five")], 10).name_of(5) == "five"


def test_an_unknown_key_is_shown_in_hexadecimal() -> None:
    assert Names().name_of(255) == "#00000000000000ff"


def test_a_key_of_64_bits_is_shown_in_16_digits() -> None:
    assert Names().name_of((1 << 64) - 1) == "#ffffffffffffffff"


def test_the_bias_always_has_its_name() -> None:
    assert Names(0).name_of(BIAS_KEY) == BIAS_NAME


def test_the_key_of_the_bias_is_the_key_of_its_name() -> None:
    assert key_of(BIAS_NAME) == BIAS_KEY


def test_a_key_is_among_the_names_once_it_was_added() -> None:
    names = names_of([(5, "five")], 10)
    assert 5 in names
    assert 6 not in names


def many(count: int, seed: int = 0) -> tuple[Keys, list[str]]:
    keys = np.random.default_rng(seed).permutation(np.arange(1, count + 1, dtype=np.uint64)) * np.uint64(2**64 // 10**7)
    return keys, [f"n{key}" for key in keys.tolist()]


@pytest.mark.parametrize("at_once", [1, 7, 1000, 20_000])
def test_many_names_are_kept_however_they_come(at_once: int) -> None:
    keys, texts = many(20_000)
    names = Names()
    for start in range(0, 20_000, at_once):
        names.remember(keys[start : start + at_once], texts[start : start + at_once])
    assert len(names) == 20_000
    assert list(names) == sorted(zip(keys.tolist(), texts, strict=True))


@given(given_pairs=pairs, asked=st.lists(st.integers(1, 40), max_size=20), at_most=st.integers(0, 20))
def test_unknown_keys_are_those_whose_names_would_be_kept(
    given_pairs: list[tuple[int, str]], asked: list[int], at_most: int
) -> None:
    names = names_of(given_pairs, at_most)
    expected = [place for place, key in enumerate(asked) if key not in names] if len(names) < at_most else []
    assert names.unknown(np.array(asked, np.uint64)).tolist() == expected


def test_known_keys_are_found_in_every_run_and_among_the_latest() -> None:
    keys, texts = many(5000)
    names = Names()
    for k in range(5000):
        names.remember(keys[k : k + 1], texts[k : k + 1])
    assert names.unknown(keys).tolist() == []
    assert names.unknown(keys + np.uint64(1)).tolist() == list(range(5000))
    assert all(names.name_of(int(key)) == text for key, text in zip(keys, texts, strict=True))


def test_an_empty_name_is_unknown() -> None:
    names = names_of([(5, ""), (6, "six")], 10)
    assert (list(names), 5 in names) == ([(6, "six")], False)


def test_keys_and_names_must_have_the_same_length() -> None:
    with pytest.raises(ValueError, match="2 keys cannot have 1 names"):
        Names().remember([1, 2], ["one"])


def test_names_beyond_the_limit_of_letters_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 10)
    assert list(names_of([(1, "123456"), (2, "12345"), (3, "1234")], 10)) == [(1, "123456"), (3, "1234")]


def test_a_copy_does_not_change_with_the_original() -> None:
    names = names_of([(1, "one")], 10)
    copy = names.copy()
    names.remember([2], ["two"])
    copy.remember([3], ["three"])
    assert (list(copy), list(names)) == ([(1, "one"), (3, "three")], [(1, "one"), (2, "two")])


@pytest.mark.parametrize("count", [200, 1000, 30_000])
def test_a_name_takes_at_most_24_bytes_beside_its_letters(count: int) -> None:
    keys, texts = many(count)
    names = Names()
    letters = 0
    for k in range(0, count, 5):
        names.remember(keys[k : k + 5], texts[k : k + 5])
        letters += sum(map(len, texts[k : k + 5]))
        assert k < 200 or names.nbytes <= 24 * len(names) + letters + 1000


def test_the_reported_memory_is_that_of_the_objects() -> None:
    names = Names()
    names.remember(*many(1000))
    names.remember([1, 2, 3], ["one", "two", "three"])
    recent = names._recent  # noqa: SLF001 - to measure it
    arrays = [array for run in names._runs for array in (run.keys, run.ends, run.text)]  # noqa: SLF001
    dicts = sum(map(sys.getsizeof, [recent, *recent, *recent.values()]))
    assert names.nbytes == pytest.approx(sum(array.nbytes + 112 for array in arrays) + dicts, rel=0.05)


IMPOSSIBLE = [
    ([2, 1], [1, 2], 2),
    ([1, 1], [1, 2], 2),
    ([1, 2], [1], 1),
    ([1, 2], [2, 1], 1),
    ([1, 2], [1, 2], 3),
    ([], [], 1),
    ([1, 2, 3], [1, 2, 3], 3),
]


@pytest.mark.parametrize(("keys", "ends", "letters"), IMPOSSIBLE)
def test_inconsistent_names_are_refused(keys: list[int], ends: list[int], letters: int) -> None:
    run = Run(np.array(keys, np.uint64), np.array(ends, np.uint32), np.zeros(letters, np.uint8))
    with pytest.raises(ValueError, match="its names"):
        Names(at_most=2).restore(run)
