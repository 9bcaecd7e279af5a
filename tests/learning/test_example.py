import math
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.learning.errors import BadExample
from app.learning.example import example_of
from kernels.feature_hash import key_of

LONG = "x" * 200
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)
features = st.dictionaries(names, st.floats(-1e100, 1e100), max_size=20)


@given(given_features=features)
def test_an_example_has_keys_values_and_names_in_the_order_given(given_features: dict[str, float]) -> None:
    example = example_of(given_features)
    assert example.keys.tolist() == [key_of(name) for name in given_features]
    assert example.values.tolist() == list(given_features.values())
    assert example.names == tuple(given_features)


def test_an_empty_example_is_valid() -> None:
    example = example_of({})
    assert (example.keys.size, example.values.size, example.names) == (0, 0, ())


@pytest.mark.parametrize("given_features", [{}, {"a": 1.0}])
def test_keys_and_values_have_the_types_that_kernels_expect(given_features: dict[str, float]) -> None:
    example = example_of(given_features)
    assert (example.keys.dtype.name, example.values.dtype.name) == ("uint64", "float64")


@pytest.mark.parametrize("value", [True, 1, 1.0, np.float32(1.0), np.int64(1), Decimal(1), Fraction(1)])
def test_everything_that_is_a_number_is_accepted(value: Any) -> None:  # noqa: ANN401
    assert example_of({"a": value}).values.tolist() == [1.0]


def test_false_is_zero() -> None:
    assert example_of({"a": False}).values.tolist() == [0.0]


@pytest.mark.parametrize("value", [1e100, -1e100, 10**100, 5e-324, -0.0])
def test_values_up_to_the_largest_are_accepted(value: float) -> None:
    assert example_of({"a": value}).values.tolist() == [float(value)]


def test_a_mapping_need_not_be_a_dict() -> None:
    assert example_of(MappingProxyType({"a": 2.0})).values.tolist() == [2.0]


@pytest.mark.parametrize("count", [1, 2, 1023, 1025, 5000])
def test_an_example_may_have_any_number_of_features(count: int) -> None:
    assert example_of({f"f{i}": float(i) for i in range(count)}).values.tolist() == list(range(count))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("abc", "'abc'"),
        ("1.5", "'1.5'"),
        ("", "''"),
        (None, "null"),
        ([1.0], "[1.0]"),
        ({}, "{}"),
        (1j, "1j"),
        (b"1", "1"),
        (10**400, "1000"),
        (-(10**400), "-1000"),
        (LONG, "xxx"),
    ],
)
@pytest.mark.parametrize("others", [{}, {"before": 1.0, "between": 2.0}])
def test_a_value_that_is_not_a_number_is_named(value: Any, shown: str, others: dict[str, float]) -> None:  # noqa: ANN401
    with pytest.raises(BadExample, match=r"^feature 'culprit' is .*, not a number in range$") as refusal:
        example_of({**others, "culprit": value, "after": 1.0})
    assert shown in str(refusal.value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e101, -1e101, 10**101])
def test_a_value_that_is_not_finite_or_too_large_is_named(value: float) -> None:
    with pytest.raises(BadExample) as refusal:
        example_of({"before": 1.0, "culprit": value, "after": math.nan})
    assert str(refusal.value) == (
        f"feature 'culprit' is {float(value)}: values must be finite and at most 1e+100 in size"
    )


def test_an_integer_too_long_to_be_printed_is_refused_like_any_other() -> None:
    with pytest.raises(BadExample, match=r"^feature 'culprit' is "):
        example_of({"culprit": 10**5000})


@pytest.mark.parametrize("value", [LONG, 10**400, [1.0] * 1000])
def test_a_refusal_stays_short(value: Any) -> None:  # noqa: ANN401
    with pytest.raises(BadExample) as refusal:
        example_of({"culprit": value})
    assert len(str(refusal.value)) < 200


@pytest.mark.parametrize("value", [None, math.nan])
def test_a_refusal_stays_short_also_if_the_name_is_long(value: Any) -> None:  # noqa: ANN401
    with pytest.raises(BadExample) as refusal:
        example_of({100 * LONG: value})
    assert len(str(refusal.value)) < 500


@pytest.mark.parametrize("others", [{}, {"a": 1.0}, {"nul\0": 1.0}])
def test_an_empty_name_is_refused(others: dict[str, float]) -> None:
    with pytest.raises(BadExample, match="a feature name is empty"):
        example_of({**others, "": 1.0})


@pytest.mark.parametrize(("name", "kind"), [(5, "int"), (None, "NoneType"), (b"a", "bytes"), (("a", "b"), "tuple")])
@pytest.mark.parametrize("others", [{}, {"a": 1.0}])
def test_a_name_that_is_not_a_string_is_refused_with_its_type(name: Any, kind: str, others: dict[str, float]) -> None:  # noqa: ANN401
    with pytest.raises(BadExample, match=f"feature names must be text: .*{kind}"):
        example_of({**others, name: 1.0})


@pytest.mark.parametrize("name", ["\ud800", "ab\udfff", "nul\0\ud800"])
def test_a_name_with_a_lone_surrogate_is_named(name: str) -> None:
    with pytest.raises(BadExample) as refusal:
        example_of({name: 1.0})
    assert repr(name) in str(refusal.value)


@pytest.mark.parametrize("before", ["a", LONG])
def test_a_name_with_a_lone_surrogate_is_named_among_others(before: str) -> None:
    with pytest.raises(BadExample) as refusal:
        example_of({before: 1.0, "culprit\ud800": 1.0, "after": 1.0})
    assert str(refusal.value) == r"a feature name is not valid Unicode: 'culprit\ud800'"
