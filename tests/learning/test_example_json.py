"""Features as JSON text: the same example as from the dict, or an error that names the cause."""

import json
import math
from typing import Any

import pytest
from hypothesis import example as case
from hypothesis import given
from hypothesis import strategies as st

from app.learning import example as module
from app.learning.errors import BadExample
from app.learning.example import Example, NamesInText, example_of, example_of_json, examples_of_json
from kernels.feature_hash import key_of

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
plain_names = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), min_size=1, max_size=20)
values = st.one_of(
    st.floats(-1e100, 1e100), st.integers(-(10**25), 10**25), st.floats(-1.0, 1.0), st.integers(-9, 9), st.booleans()
)
features = st.dictionaries(names | plain_names, values, max_size=12)
layouts = st.sampled_from([None, 0, "\t\r\n "])
LONG = 5000 * "9"


@given(given_features=features, ascii_only=st.booleans(), indent=layouts)
def test_the_text_gives_the_example_of_its_dict(
    given_features: dict[str, float], ascii_only: bool, indent: int | str | None
) -> None:
    text = json.dumps(given_features, ensure_ascii=ascii_only, indent=indent).encode()
    expected = {name: value for name, value in json.loads(text).items() if value is not False}
    assert_equal(example_of_json(text), example_of(expected))


def test_texts_and_booleans_become_features() -> None:
    example = example_of_json(rb'{"n": 2, "yes": true, "no": false, "browser": "chrome", "note": "", "x": "a\nb"}')
    assert list(example.names) == ["n", "yes", "browser=chrome", "note=", "x=a\nb"]
    assert example.values.tolist() == [2.0, 1.0, 1.0, 1.0, 1.0]
    assert example.keys.tolist() == [key_of(name) for name in example.names]


def test_a_text_value_equals_the_feature_name_text() -> None:
    assert_equal(example_of_json(b'{"browser": "chrome"}'), example_of({"browser=chrome": 1.0}))


def test_a_false_feature_alone_gives_an_empty_example() -> None:
    assert example_of_json(b'{"a": false}').keys.size == 0


@given(st.lists(st.dictionaries(plain_names, st.floats(-1e9, 1e9), max_size=9), max_size=5))
def test_several_texts_give_the_examples_of_each_or_none(given_features: list[dict[str, float]]) -> None:
    given_texts = [json.dumps(each).encode() for each in given_features]
    examples = examples_of_json(given_texts)
    if examples is None:
        assert any(b"\\" in text or b"e-" in text for text in given_texts)
        return
    assert len(examples) == len(given_texts)
    for i, text in enumerate(given_texts):
        alone, some = example_of_json(text), slice(examples.starts[i], examples.starts[i + 1])
        assert examples.keys[some].tobytes() == alone.keys.tobytes()
        assert examples.values[some].tobytes() == alone.values.tobytes()


@pytest.mark.parametrize("unusual", [b"", b"7", b"{", b'{"a":"x"}', b'{"a":1,"a":2}', b'{"\\u0041":1}', b'{"a":1} '])
@pytest.mark.parametrize("place", range(3))
def test_one_unusual_text_gives_none(unusual: bytes, place: int) -> None:
    given_texts = [b'{"a":1}', b'{"b":2}']
    given_texts.insert(place, unusual)
    assert examples_of_json(given_texts) is None


@given(given_features=st.dictionaries(plain_names.filter(lambda name: not set(name) & {'"', "\\"}), values, max_size=9))
def test_plain_features_are_read_by_the_kernel_alone(given_features: dict[str, float]) -> None:
    numbers = {name: float(value) for name, value in given_features.items() if not 0.0 < abs(value) < 1e-250}
    assert isinstance(example_of_json(json.dumps(numbers).encode()).names, NamesInText)


@given(st.text('{}[]":,.+-eE0159ab\\ \n\u00e9', max_size=12).map(lambda text: "{" + text + "}"))
@case('{"a":01}')
@case('{"a":-}')
@case('{"a":-01}')
@case('{"a":+1}')
@case('{"a":.5}')
@case('{"a":5.}')
@case('{"a":5.e1}')
@case('{"a":1e}')
@case('{"a":1e+}')
@case('{"a":1,}')
@case('{,"a":1}')
@case('{"a":1 "b":2}')
@case('{"a" 1}')
@case('{"a"}')
@case('{"a}')
@case('{"a":}')
@case("{a:1}")
@case("{'a':1}")
@case('{"a":1}}')
@case('{{"a":1}')
@case('{"a":-0}')
@case('{"a":1E+2}')
@case('{"a":0x1}')
@case('{"a":1_0}')
@case('{"a":Infinity}')
@case("{}")
@case("{ }")
def test_exactly_the_valid_texts_are_accepted(text: str) -> None:
    assert_as_python_reads(text.encode())


@given(st.binary(max_size=12).map(lambda name: b'{"' + name + b'":1}'))
@case(b'{"\xc0\x80":1}')
@case(b'{"\xe0\x80\x80":1}')
@case(b'{"\xed\xa0\x80":1}')
@case(b'{"\xed\x9f\xbf":1}')
@case(b'{"\xee\x80\x80":1}')
@case(b'{"\xf0\x8f\xbf\xbf":1}')
@case(b'{"\xf0\x90\x80\x80":1}')
@case(b'{"\xf4\x8f\xbf\xbf":1}')
@case(b'{"\xf4\x90\x80\x80":1}')
@case(b'{"\xf5\x80\x80\x80":1}')
@case(b'{"\xff":1}')
@case(b'{"\xc3":1}')
@case(b'{"abcdefg\xc3\xa9":1}')
@case(b'{"a\x1f":1}')
@case(b'{"a\x7f":1}')
def test_names_are_valid_utf8_or_refused(text: bytes) -> None:
    assert_as_python_reads(text)


@given(features, st.data())
def test_a_truncated_text_is_refused(given_features: dict[str, float], data: st.DataObject) -> None:
    text = json.dumps(given_features).encode()
    with pytest.raises(BadExample):
        example_of_json(text[: data.draw(st.integers(0, len(text) - 1))])


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_kind_of_bytes_is_read(kind: Any) -> None:  # noqa: ANN401
    assert_equal(example_of_json(kind(b'{"a": 1, "b": 0.25}')), example_of({"a": 1.0, "b": 0.25}))


def test_an_example_does_not_change_with_the_buffer() -> None:
    buffer = bytearray(b'{"abc": 1}')
    example = example_of_json(buffer)
    buffer[2:5] = b"xyz"
    assert list(example.names) == ["abc"]


@pytest.mark.parametrize("number", ["0.1", "0.30000000000000004", "1e-7", "123456789012345678901234567890", "1e100"])
@pytest.mark.parametrize("sign", ["", "-"])
def test_numbers_are_read_as_python_reads_them(number: str, sign: str) -> None:
    assert example_of_json(f'{{"a": {sign}{number}}}'.encode()).values.tolist() == [float(sign + number)]


@pytest.mark.parametrize("number", ["5e-324", "1e-310", "1e-290", "2" + 90 * "0" + ".5", "0." + 60 * "123456789"])
def test_unusual_numbers_are_read_exactly_too(number: str) -> None:
    assert example_of_json(f'{{"a": {number}}}'.encode()).values.tolist() == [float(number)]


def test_an_escaped_name_is_unescaped() -> None:
    example = example_of_json(rb'{"a\"\u00e9\n": 1, "b": 2}')
    assert list(example.names) == ['a"\u00e9\n', "b"]
    assert example.keys.tolist() == [key_of('a"\u00e9\n'), key_of("b")]


REFUSED = [
    (b"", "the features are not valid JSON"),
    (b"[1]", "features must be an object of names and numbers, not [1.0]"),
    (b'"a}', "the features are not valid JSON"),
    (b"null", "features must be an object of names and numbers, not null"),
    (b'\xef\xbb\xbf{"a": 1}', "the features are not valid JSON"),
    ('{"a": 1}'.encode("utf-16"), "the features are not valid UTF-8"),
    (b'{"a": 1} {}', "the features are not valid JSON: Extra data"),
    (b'{"": 1}', "a feature name is empty"),
    (b'{"": "a"}', "a feature name is empty"),
    (b'{"": false}', "a feature name is empty"),
    (b'{"x": null}', "feature 'x' is null; it must be a number, true, false or a text"),
    (b'{"x": {"y": 1}}', "feature 'x' is {'y': 1.0}; it must be a number, true, false or a text"),
    (b'{"x": [[1]]}', "feature 'x' is [[1.0]]; it must be a number, true, false or a text"),
    (rb'{"x": "\ud800"}', "a feature name is not valid Unicode: 'x=\\ud800'"),
    (b'{"x=1": 1, "x": "1"}', "feature 'x=1' is given twice"),
    (b'{"x": "1", "x=1": 1}', "feature 'x=1' is given twice"),
    (b'{"x": "y=1", "x=y": "1"}', "feature 'x=y=1' is given twice"),
    (b'{"a": 1, "x": NaN}', "feature 'x' is nan: values must be finite"),
    (b'{"x": -Infinity}', "feature 'x' is -inf: values must be finite"),
    (b'{"x": 1e101}', "feature 'x' is 1e+101: values must be finite"),
    (b'{"x": 1e999999999}', "feature 'x' is inf: values must be finite"),
    (f'{{"x": {LONG}}}'.encode(), "feature 'x' is inf: values must be finite"),
    (f'{{"x": -{LONG}}}'.encode(), "feature 'x' is -inf: values must be finite"),
    (rb'{"\ud800": 1}', "a feature name is not valid Unicode: '\\ud800'"),
    (b'{"x": ' + 100_000 * b"[" + b"}", "the features are nested too deeply"),
    (b'{"x": ' + 100_000 * b'{"a":' + b"}", "the features are nested too deeply"),
    (b'{"x": 1, "y": 2, "x": 1}', "feature 'x' is given twice"),
    (rb'{"x": 1, "\u0078": 1}', "feature 'x' is given twice"),
    (b'{"x": 1, "y": 2, "x": null}', "feature 'x' is given twice"),
]


@pytest.mark.parametrize(("text", "sentence"), REFUSED)
def test_the_message_names_the_cause(text: bytes, sentence: str) -> None:
    with pytest.raises(BadExample) as refusal:
        example_of_json(text)
    assert str(refusal.value).startswith(sentence)
    assert len(str(refusal.value)) < 300


@pytest.mark.parametrize("depth", range(900, 1000, 3))
def test_a_value_nested_almost_too_deeply_is_refused_like_any_other(depth: int) -> None:
    with pytest.raises(BadExample):
        example_of_json(b'{"x": ' + depth * b"[" + depth * b"]" + b"}")


def test_a_name_twice_among_many_is_found() -> None:
    many = ", ".join(f'"f{i}": {i}' for i in range(5000))
    with pytest.raises(BadExample, match="'f77' is given twice"):
        example_of_json(f'{{{many}, "f77": 1}}'.encode())


@pytest.mark.parametrize("count", [0, 1, 2, 100, 5000])
def test_any_number_of_features_is_read(count: int) -> None:
    given_features = {f"f{i}": float(i) for i in range(count)}
    assert_equal(example_of_json(json.dumps(given_features).encode()), example_of(given_features))


def test_a_text_too_long_for_the_kernel_is_read_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST_TEXT", 5)
    assert example_of_json(b'{"a": 1}').names == ("a",)


def test_names_in_a_text_are_a_sequence() -> None:
    found = example_of_json('{"a": 1, "žluť": 2, "c": 3}'.encode()).names
    assert (len(found), found[0], found[-1], list(found[1:])) == (3, "a", "c", ["žluť", "c"])
    assert "žluť" in found
    with pytest.raises(IndexError):
        found[3]


def assert_as_python_reads(text: bytes) -> None:
    try:
        expected = example_of(json.loads(text.decode(), object_pairs_hook=without_twins))
    except (ValueError, BadExample):
        with pytest.raises(BadExample):
            example_of_json(text)
    else:
        assert_equal(example_of_json(text), expected)


def without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a repeated name")
    return dict(pairs)


def assert_equal(found: Example, expected: Example) -> None:
    assert found.keys.tolist() == expected.keys.tolist()
    assert found.values.tolist() == expected.values.tolist()
    assert list(found.names) == list(expected.names)
    assert not any(math.isnan(value) for value in found.values)
