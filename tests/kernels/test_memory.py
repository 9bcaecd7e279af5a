import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.table.memory import LARGE_BYTES, Memory

BORDER = LARGE_BYTES // 8  # the smallest size with its own mapping
PAGE = 512  # float64 numbers in a page of 4 KiB

sizes = st.one_of(
    st.integers(1, 3 * PAGE),
    st.integers(BORDER - PAGE, BORDER + PAGE),
    st.integers(2 * BORDER, 2 * BORDER + 2 * PAGE),
)
changes = pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(100, 200, id="small grows"),
        pytest.param(200, 100, id="small shrinks"),
        pytest.param(100, BORDER, id="small becomes large"),
        pytest.param(BORDER - 1, BORDER, id="grows over the border by one"),
        pytest.param(BORDER, BORDER - 1, id="shrinks under the border by one"),
        pytest.param(BORDER, 3 * BORDER + 7, id="large grows"),
        pytest.param(3 * BORDER + 7, BORDER + 1, id="large shrinks"),
        pytest.param(3 * BORDER, 100, id="large becomes small"),
        pytest.param(BORDER, BORDER, id="large stays"),
        pytest.param(100, 100, id="small stays"),
    ],
)


def filled(size: int) -> Memory:
    memory = Memory(size)
    memory.rows[:] = np.arange(1.0, size + 1.0)
    return memory


@pytest.mark.parametrize("size", [1, BORDER - 1, BORDER, BORDER + 1])
def test_new_memory_is_zero(size: int) -> None:
    memory = Memory(size)
    assert memory.rows.size == size
    assert not memory.rows.any()


@changes
def test_resizing_gives_the_requested_size(before: int, after: int) -> None:
    memory = filled(before)
    memory.resize(after)
    assert memory.rows.size == after


@changes
def test_resizing_keeps_the_elements_that_fit(before: int, after: int) -> None:
    memory = filled(before)
    memory.resize(after)
    kept = min(before, after)
    assert np.array_equal(memory.rows[:kept], np.arange(1.0, kept + 1.0))


@changes
def test_new_elements_are_zero(before: int, after: int) -> None:
    memory = filled(before)
    memory.resize(after)
    assert not memory.rows[before:].any()


@pytest.mark.parametrize("size", [100, BORDER + 2 * PAGE])
@pytest.mark.parametrize("lost", [1, PAGE // 2, PAGE, PAGE + 1])
def test_removed_elements_do_not_come_back(size: int, lost: int) -> None:
    memory = filled(size)
    left = max(size - lost, 0)
    memory.resize(left)
    memory.resize(size)
    assert not memory.rows[left:].any()


@settings(max_examples=50)
@given(history=st.lists(sizes, min_size=2, max_size=6))
def test_any_history_of_sizes_is_that_of_a_plain_array(history: list[int]) -> None:
    memory, plain = filled(history[0]), np.arange(1.0, history[0] + 1.0)
    for step, size in enumerate(history[1:]):
        memory.resize(size)
        plain = np.concatenate([plain[:size], np.zeros(max(size - plain.size, 0))])
        assert np.array_equal(memory.rows, plain)
        memory.rows[-1] = plain[-1] = -float(step)


@changes
def test_memory_can_be_written_after_resizing(before: int, after: int) -> None:
    memory = filled(before)
    memory.resize(after)
    memory.rows[:] = 5.0
    assert memory.rows.sum() == 5.0 * after


@pytest.mark.parametrize("after", [2 * BORDER, BORDER + 1])
def test_a_resize_that_a_view_prevents_changes_nothing(after: int) -> None:
    memory = filled(BORDER + 100)
    view = memory.rows[10:20]
    with pytest.raises(BufferError):
        memory.resize(after)
    assert view.tolist() == list(range(11, 21))
    assert np.array_equal(memory.rows, np.arange(1.0, BORDER + 101.0))


@pytest.mark.parametrize(("before", "after"), [(100, 200), (100, BORDER), (BORDER, 100)])
def test_a_view_of_memory_that_was_copied_keeps_what_it_showed(before: int, after: int) -> None:
    memory = filled(before)
    view = memory.rows[10:20]
    memory.resize(after)
    memory.rows[:] = 0.0
    assert view.tolist() == list(range(11, 21))


def test_a_resize_that_fails_changes_nothing() -> None:
    memory = filled(BORDER)
    with pytest.raises((OSError, MemoryError)):
        memory.resize(1 << 58)
    assert np.array_equal(memory.rows, np.arange(1.0, BORDER + 1.0))
