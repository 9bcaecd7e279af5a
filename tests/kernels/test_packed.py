import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.examples.packed import DOUBLES, KEY_0, ONES, SINGLES, SOUND, VALUE_TOO_LARGE, flaw_in, form_of

singles = st.floats(width=32, allow_nan=False)


@given(st.lists(st.floats() | singles | st.just(1.0)).map(lambda values: np.array(values, np.float64)))
def test_the_form_is_the_shortest_that_is_exact(values: np.ndarray) -> None:
    with np.errstate(over="ignore"):
        exact = bool((values.astype(np.float32) == values).all())
    assert form_of(values) == (ONES if (values == 1.0).all() else SINGLES if exact else DOUBLES)


@pytest.mark.parametrize(
    ("keys", "values", "flaw"),
    [
        ([], [], SOUND),
        ([1, 2**64 - 1], [1e100, -1e100], SOUND),
        ([1, 0, 2], [1.0, 1.0, 1.0], KEY_0),
        ([1, 2], [1.0, 1.1e100], VALUE_TOO_LARGE),
        ([1, 2], [-np.inf, 1.0], VALUE_TOO_LARGE),
        ([1, 2], [1.0, np.nan], VALUE_TOO_LARGE),
    ],
)
def test_invalid_examples_are_found(keys: list[int], values: list[float], flaw: int) -> None:
    assert flaw_in(np.array(keys, np.uint64), np.array(values, np.float64)) == flaw
