"""What the JSON kernel accepts, and what it gives up on; tests/learning/test_example_json.py tests its use."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.learning.example import example_of_json
from kernels.text.json_features import SHORTEST_FEATURE, UNUSUAL, _may_repeat, read_features, read_many
from tests.kernels.test_feature_hash import names_with_hash_0

GUARD = 64


def read(text: bytes) -> int:
    """Read the text from the middle of an array, so that reading past its end changes the result."""
    outcomes = set()
    for around in (b'"', b"9", b"}", b"\\"):
        whole = np.frombuffer(GUARD * around + text + GUARD * around, np.uint8)
        room = len(text) // SHORTEST_FEATURE
        keys, values, spans = np.zeros(room + 1, np.uint64), np.zeros(room + 1), np.zeros(room + 1, np.uint64)
        outcomes.add(read_features(whole[GUARD : GUARD + len(text)], keys[:room], values[:room], spans[:room]))
        assert (keys[room], values[room], spans[room]) == (0, 0.0, 0)
    (outcome,) = outcomes
    return outcome


texts = st.text('{}":,.-e01ab \\\u00e9', max_size=30).map(lambda text: ("{" + text + "}").encode())
usual_texts = st.dictionaries(st.text("abc", min_size=1), st.floats(-9, 9)).map(lambda each: json.dumps(each).encode())


@given(st.lists(texts | usual_texts | st.sampled_from([b"", b"{}", b"7", b'{"a":1} ']), max_size=6))
def test_several_texts_are_read_as_each_alone(given_texts: list[bytes]) -> None:
    whole = b"".join(given_texts)
    ends = np.cumsum([len(text) for text in given_texts], dtype=np.int64)
    room = len(whole) // SHORTEST_FEATURE
    keys, values, starts = np.zeros(room + 1, np.uint64), np.zeros(room + 1), np.zeros(len(given_texts) + 1, np.int64)
    usual = read_many(
        np.frombuffer(GUARD * b"}" + whole + GUARD * b"}", np.uint8)[GUARD:-GUARD],
        ends,
        keys[:room],
        values[:room],
        starts,
    )
    assert (keys[room], values[room]) == (0, 0.0)
    counts = [read(text) if text.endswith(b"}") else UNUSUAL for text in given_texts]
    assert usual == (UNUSUAL not in counts)
    if usual:
        assert np.diff(starts).tolist() == counts
        examples = [example_of_json(text) for text in given_texts]
        assert keys[: starts[-1]].tolist() == [key for example in examples for key in example.keys.tolist()]
        assert values[: starts[-1]].tolist() == [value for example in examples for value in example.values.tolist()]


@given(st.text('{}":,.-e01ab \\\u00e9', max_size=30).map(lambda text: "{" + text + "}"))
def test_bytes_after_the_text_do_not_matter(text: str) -> None:
    assert read(text.encode()) >= UNUSUAL


@pytest.mark.parametrize("length", range(1, 20))
@pytest.mark.parametrize("end", ["", '"', '":', '":1', '":1,', '":-', '":1.', '":1e', '":1e-'])
def test_a_truncated_text_is_unusual(length: int, end: str) -> None:
    assert read(b'{"' + length * b"a" + end.encode() + b"}") == (1 if end == '":1' else UNUSUAL)


@pytest.mark.parametrize("value", ["1", "-1", "0", "-0", "0.5", "1e5", "1E-5", "12.25e+3", "0.12345678901234567"])
@pytest.mark.parametrize("blank", ["", " ", "\t\r\n "])
def test_a_usual_text_is_accepted(value: str, blank: str) -> None:
    text = blank.join(["", "{", '"a"', ":", value, ",", '"b"', ":", "1", "}"])
    assert read(text.encode()) == 2


@pytest.mark.parametrize("value", ["01", "+1", ".5", "5.", "1e", "true", "null", '"1"', "[]", "{}", "1e101", "NaN", ""])
def test_a_value_that_is_not_a_usual_number_is_unusual(value: str) -> None:
    assert read(f'{{"a":{value}}}'.encode()) == UNUSUAL


@pytest.mark.parametrize("name", ["", "\\n", "\x1f", "a\n"])
@pytest.mark.parametrize("before", ["", "abcdefg", 3 * "abcdefgh"])
def test_a_name_with_an_escape_or_a_control_character_is_unusual(name: str, before: str) -> None:
    assert read(f'{{"{before + name}":1}}'.encode()) == (1 if before + name == before != "" else UNUSUAL)


@pytest.mark.parametrize("letter", ["\u00e9", "\u20ac", "\U0001f600", "\x7f"])
@pytest.mark.parametrize("places", range(10))
def test_non_ascii_letters_are_accepted_anywhere(letter: str, places: int) -> None:
    assert read(f'{{"{places * "a" + letter}":1,"b":1}}'.encode()) == 2


def test_a_repeated_name_is_unusual() -> None:
    assert read(b'{"a":1,"b":2,"a":3}') == UNUSUAL


def test_two_names_with_one_key_are_unusual() -> None:
    usual = (name for name in names_with_hash_0() if name.isprintable() and not set(name) & {'"', "\\"})
    text = json.dumps(dict.fromkeys(itertools.islice(usual, 2), 1.0)).encode()
    assert read(text) == UNUSUAL
    assert example_of_json(text).keys.tolist() == [1, 1]


def test_crafted_colliding_keys_do_not_take_long() -> None:
    assert _may_repeat(np.arange(1, 100_000, dtype=np.uint64) << np.uint64(40))


@given(st.lists(st.integers(1, 2**64 - 1), max_size=300, unique=True))
def test_different_keys_do_not_repeat(keys: list[int]) -> None:
    assert not _may_repeat(np.array(keys, np.uint64))
