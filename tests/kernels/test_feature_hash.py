import itertools
from collections.abc import Iterator

import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from app.learning.errors import BadExample
from app.learning.example import example_of
from kernels.feature_hash import P1, P2, P4, P5, hash_name, hash_names, key_of

MODULUS = 1 << 64
names_without_separator = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=70)
any_names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


def hashed(text: bytes, start: int = 0, stop: int | None = None) -> int:
    return int(hash_name(np.frombuffer(text, np.uint8), start, len(text) if stop is None else stop))


def hashed_together(names: list[str]) -> list[int]:
    keys = np.zeros(len(names), np.uint64)
    count = hash_names(np.frombuffer("\0".join(names).encode(), np.uint8), keys)
    return [int(key) for key in keys[:count]]


def test_a_key_is_xxh64_for_every_length() -> None:
    rng = np.random.default_rng(1)
    texts = [rng.bytes(length) for length in range(201) for _ in range(20)]
    assert [hashed(text) for text in texts] == [xxhash.xxh64_intdigest(text) for text in texts]


@given(text=st.binary(max_size=300), before=st.binary(max_size=40), after=st.binary(max_size=40))
def test_the_bytes_around_a_name_do_not_change_its_key(text: bytes, before: bytes, after: bytes) -> None:
    assert hashed(before + text + after, len(before), len(before) + len(text)) == xxhash.xxh64_intdigest(text)


@given(names=st.lists(names_without_separator, min_size=1, max_size=30))
def test_names_hashed_together_have_the_keys_of_each_alone(names: list[str]) -> None:
    assert hashed_together(names) == [key_of(name) for name in names]


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("", 0xEF46DB3751D8E999),
        ("a", 0xD24EC4F1A98C6E5B),
        ("abc", 0x44BC2CF5AD770999),
        ("(bias)", 0xA7EF7CC5ADE9B561),
        ("Größe", 0xD6D93475B38DF2FB),
        ("host=www.example.org/path?query=1", 0x044A1BB4343AC095),
    ],
)
def test_a_key_never_changes_from_version_to_version(name: str, key: int) -> None:
    assert key_of(name) == key


def test_the_name_whose_hash_is_0_gets_the_key_1() -> None:
    name = next(names_with_hash_0())
    assert xxhash.xxh64_intdigest(name.encode()) == 0
    assert key_of(name) == 1


@given(names=st.lists(any_names, min_size=1, max_size=12, unique=True))
def test_an_example_has_the_key_of_every_name_also_with_nul_characters(names: list[str]) -> None:
    assert example_of(dict.fromkeys(names, 1.0)).keys.tolist() == [key_of(name) for name in names]


@pytest.mark.parametrize("name", ["\0", "a\0b", "\0\0", "a\0", "Straße", "日本語", "😀" * 20])
def test_an_unusual_name_is_hashed_as_its_utf_8_bytes(name: str) -> None:
    expected = xxhash.xxh64_intdigest(name.encode())
    assert example_of({"plain": 1.0, name: 1.0}).keys.tolist()[1] == expected


@pytest.mark.parametrize("names", [["\ud800"], ["fine", "\udfff"], ["nul\0", "\ud800"]])
def test_a_lone_surrogate_is_refused(names: list[str]) -> None:
    with pytest.raises(BadExample, match="not valid Unicode"):
        example_of(dict.fromkeys(names, 1.0))


def names_with_hash_0() -> Iterator[str]:
    """Run XXH64 backwards from 0, for 16 bytes whose second half turns out to be ASCII."""
    for number in itertools.count():
        first = f"{number:08d}"
        word = second_word(int.from_bytes(first.encode(), "little")).to_bytes(8, "little")
        if word.isascii():
            yield first + word.decode()


def second_word(first: int) -> int:
    """The word that must follow `first` so that the state before the final mixing, which keeps 0, is 0."""
    p1, p2, p4, p5 = int(P1), int(P2), int(P4), int(P5)
    state = (rotated(p5 + 16 ^ round_of(first), 27) * p1 + p4) % MODULUS
    wanted = rotated(-p4 * pow(p1, -1, MODULUS) % MODULUS, 64 - 27) ^ state
    return rotated(wanted * pow(p1, -1, MODULUS) % MODULUS, 64 - 31) * pow(p2, -1, MODULUS) % MODULUS


def round_of(word: int) -> int:
    return rotated(word * int(P2) % MODULUS, 31) * int(P1) % MODULUS


def rotated(word: int, by: int) -> int:
    return (word << by | word >> 64 - by) % MODULUS
