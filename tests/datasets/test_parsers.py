"""The LIBSVM and Vowpal Wabbit parsers against the reference parsers."""

import struct
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.datasets.batch import Batch
from app.datasets.blocks import Block
from app.datasets.errors import LineErrors
from app.datasets.parsers import libsvm, vw

from . import oracle
from .oracle import Example

Parse = Callable[[Block, LineErrors], Batch]
ParseLine = Callable[[str], Example | None]

fixed_seed = settings(derandomize=True, deadline=None, max_examples=60)
many = settings(fixed_seed, max_examples=300)

numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False, min_value=-1e99, max_value=1e99).map(repr),
    st.integers(-(10**25), 10**25).map(str),
    st.decimals(allow_nan=False, allow_infinity=False, min_value=-1000, max_value=1000).map(str),
    st.floats(-1, 1).map("{:.6g}".format),
)
labels = st.sampled_from(["1", "+1", "-1", "0", "1.0", "-1.0", "+1.000000", "10e-1"])
blanks = st.sampled_from([" ", "\t", "  "])
ends = st.sampled_from(["\n", "\r\n", " \n", "\n\n"])
pairs = st.builds("{}{}:{}".format, blanks, st.integers(0, 10**12), numbers)
comments = st.sampled_from(["", "", "# 3:x | comment", " #"])
libsvm_lines = st.builds("{}{}{}{}".format, labels, st.lists(pairs).map("".join), comments, ends)

words = st.text("abcXYZ019_^#'é漢", min_size=1, max_size=40)
optional_numbers = st.one_of(st.just(""), numbers.map(":{}".format))
small_scales = st.one_of(st.just(""), st.floats(-1, 1).map(":{!r}".format))
features = st.builds("{}{}{}".format, blanks, words, optional_numbers)
namespaces = st.builds(
    "|{}{}".format,
    st.one_of(st.just(""), st.builds("{}{}".format, words, small_scales)),
    st.lists(features).map("".join),
)
heads = st.builds(
    "{} {}{}".format, labels, st.sampled_from(["", "1 ", "1.0 "]), st.sampled_from(["", "'tag ", "tag", "'t"])
)
vw_lines = st.builds("{}{}{}".format, heads, st.lists(namespaces, min_size=1, max_size=3).map("".join), ends)

libsvm_texts = st.lists(libsvm_lines, max_size=6).map("".join)
vw_texts = st.lists(vw_lines, max_size=6).map("".join)
noise = st.lists(st.text("01-+.:eE#|'a^ \t\r", max_size=12)).map(lambda lines: "".join(f"{line}\n" for line in lines))


def read(text: str, parse: Parse) -> tuple[list[Example], list[int]]:
    """Return the examples and the numbers of the bad lines."""
    bad: list[int] = []
    faults = LineErrors("file", "skip", lambda line_number, _: bad.append(line_number))
    return oracle.examples([parse(Block(text.encode(), 1), faults)]), bad


def bits(found: list[Example]) -> list[bytes]:
    return [struct.pack("<d", value) for _, features in found for _, value in features]


def check_agreement(text: str, parse: Parse, parse_line: ParseLine) -> list[int]:
    found, bad = read(text, parse)
    expected, expected_bad = oracle.parse(text, parse_line)
    assert (found, bad) == (expected, expected_bad)
    assert bits(found) == bits(expected)
    return bad


@fixed_seed
@given(text=libsvm_texts)
def test_well_formed_libsvm_is_read_to_the_last_bit(text: str) -> None:
    assert check_agreement(text, libsvm.parse, oracle.libsvm) == []


@fixed_seed
@given(text=vw_texts)
def test_well_formed_vw_is_read_to_the_last_bit(text: str) -> None:
    assert check_agreement(text, vw.parse, oracle.vw) == []


@many
@given(text=noise)
@pytest.mark.parametrize(
    ("parse", "parse_line"), [(libsvm.parse, oracle.libsvm), (vw.parse, oracle.vw)], ids=["libsvm", "vw"]
)
def test_noise_is_accepted_and_refused_line_by_line_as_the_oracle_does(
    parse: Parse, parse_line: ParseLine, text: str
) -> None:
    check_agreement(text, parse, parse_line)


@pytest.mark.parametrize("form", ["{!r}", "{:.6g}", "{:.16g}", "{:.17g}", "{:.20f}", "{:.3e}", "{:.25e}"])
def test_numbers_of_any_precision_are_read_as_python_does(form: str) -> None:
    random = np.random.default_rng(7)
    values = random.normal(size=3000) * 10 ** random.uniform(-20, 20, 3000)
    numbers = [form.format(value) for value in values.tolist()]
    found, _ = read("1 " + " ".join(f"1:{number}" for number in numbers) + "\n", libsvm.parse)
    assert [value.hex() for _, value in found[0][1]] == [float(number).hex() for number in numbers]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("1", (1.0, [])),
        ("-1 3:1 17:0.5", (-1.0, [("3", 1.0), ("17", 0.5)])),
        ("0 1:2 # 5:5", (-1.0, [("1", 2.0)])),
        ("+1 007:1e-3#", (1.0, [("007", 0.001)])),
        ("1 3:1 3:2", (1.0, [("3", 1.0), ("3", 2.0)])),
        ("1 1:1e100 2:-0.0", (1.0, [("1", 1e100), ("2", -0.0)])),
    ],
)
def test_libsvm_line(line: str, expected: Example) -> None:
    assert read(line + "\n", libsvm.parse) == ([expected], [])


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("1 |", (1.0, [])),
        ("-1 | price:0.5 red", (-1.0, [("price", 0.5), ("red", 1.0)])),
        ("1 1.0 'tag |a x y:2 |b x", (1.0, [("a^x", 1.0), ("a^y", 2.0), ("b^x", 1.0)])),
        ("0 tag|a:0.5 x y:3", (-1.0, [("a^x", 0.5), ("a^y", 1.5)])),
        ("1 |a x|b y", (1.0, [("a^x", 1.0), ("b^y", 1.0)])),
        ("1 |a:0.30000000000000004 x:0.12345678901234568", (1.0, [("a^x", 0.12345678901234568 * 0.30000000000000004)])),
        ("1 |a |b |", (1.0, [])),
    ],
)
def test_vw_line(line: str, expected: Example) -> None:
    assert read(line + "\n", vw.parse) == ([expected], [])


@pytest.mark.parametrize(("length", "bad"), [(4095, []), (4096, [1]), (100_000, [1])])
def test_a_namespace_must_leave_room_for_a_name(length: int, bad: list[int]) -> None:
    assert read("1 |" + length * "n" + "\n", vw.parse)[1] == bad


@pytest.mark.parametrize("length", [4096, 4097])
@pytest.mark.parametrize(
    ("parse", "before", "after"), [(libsvm.parse, "1 ", ":1"), (vw.parse, "1 | ", ""), (vw.parse, "1 |1", " 11")]
)
def test_names_of_4096_bytes_are_the_longest(parse: Parse, before: str, after: str, length: int) -> None:
    prefix = "1" * (length - 4 if after == " 11" else length)  # with |1, ^ and 11: 4 more
    found, bad = read(f"{before}{prefix}{after}\n", parse)
    assert (len(found), bad) == ((1, []) if length == 4096 else (0, [1]))
