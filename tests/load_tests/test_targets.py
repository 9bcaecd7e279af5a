"""Promises of a benchmark, and its exit code."""

import pytest

from load_tests.harness.report import Target, at_least, at_most, exit_code

UNKNOWN = Target("a peer", "at least 1 x", "not measured", None)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([], 0),
        ([at_most("x", 2.0, 2.0), at_least("y", 2.0, 2.0)], 0),
        ([at_most("x", 2.0, 2.1)], 1),
        ([at_least("y", 2.0, 1.9), UNKNOWN], 1),
        ([UNKNOWN], 0),
    ],
)
def test_a_missed_promise_decides_the_exit_code(found: list[Target], expected: int) -> None:
    assert exit_code(found) == expected
