"""Splitting chunks into lines."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.api.fast_path.ndjson import Line, LineSplitter, TooLong


def cut(chunks: list[bytes], limit: int = 1000) -> list[Line]:
    cutter = LineSplitter(limit)
    return [line for chunk in chunks for line in cutter.split(chunk)] + cutter.rest()


@given(st.lists(st.binary(max_size=12)), st.randoms(use_true_random=False))
def test_lines_do_not_depend_on_where_the_chunks_end(lines: list[bytes], random) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    body = b"\n".join(lines)
    places = sorted(random.randrange(len(body) + 1) for _ in range(5))
    chunks = [body[a:b] for a, b in zip([0, *places], [*places, len(body)], strict=True)]
    assert cut(chunks) == [line for line in body.split(b"\n") if line.strip()]


@pytest.mark.parametrize("body", [b"", b"\n", b"\n\n \r\n\t\n", b" "])
def test_blank_lines_are_skipped(body: bytes) -> None:
    assert cut([body]) == []


def test_the_rest_of_a_body_is_a_line_too() -> None:
    assert cut([b"a\nb"]) == [b"a", b"b"]


@pytest.mark.parametrize("size", [1, 3, 10, 11, 25, 1000])
def test_a_line_beyond_the_limit_is_marked_and_the_next_is_read(size: int) -> None:
    body = b"first\n" + b"x" * 11 + b"\n" + b"y" * 10 + b"\nlast"
    first, long, longest_allowed, last = cut([body[i : i + size] for i in range(0, len(body), size)], limit=10)
    assert (first, longest_allowed, last) == (b"first", b"y" * 10, b"last")
    assert isinstance(long, TooLong)


def test_a_body_that_ends_in_a_line_beyond_the_limit_has_it_marked() -> None:
    [line] = cut([b"x" * 6, b"x" * 6], limit=10)
    assert isinstance(line, TooLong)


def test_nothing_is_held_of_a_line_beyond_the_limit() -> None:
    cutter = LineSplitter(1000)
    chunk = b"x" * 65_536
    tracemalloc.start()
    for _ in range(500):
        cutter.split(chunk)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * len(chunk)
    assert len(cutter.split(b"\n")) == 1
