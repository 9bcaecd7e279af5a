from hypothesis import given
from hypothesis import strategies as st

from app.learning.names import BIAS_KEY, BIAS_NAME, Names
from kernels.hashing import key_of

pairs = st.lists(st.tuples(st.integers(1, 30), st.text(max_size=5)), max_size=40)


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
def test_remembering_together_equals_one_by_one(given_pairs: list[tuple[int, str]], at_most: int) -> None:
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


def test_a_key_is_among_the_names_once_it_was_remembered() -> None:
    names = names_of([(5, "five")], 10)
    assert 5 in names
    assert 6 not in names
