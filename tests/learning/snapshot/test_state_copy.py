"""A copy of a state does not change when the state learns."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.learning.events import Event, FeedbackGiven
from app.learning.example import example_of
from app.learning.replay import replay
from app.learning.snapshot.model_file import decode, encode, read_header
from app.learning.snapshot.state_copy import allocate_for, copy_state
from app.learning.state import TenantState, apply
from kernels.registry import ALGORITHMS
from tests.learning.logs import logs, random_log


@given(log=logs(), tail=st.integers(0, 20))
def test_later_learning_does_not_change_a_copy(log: list[Event], tail: int) -> None:
    state = replay(log)
    digest, names = state.digest, list(state.names)
    copy = copy_state(state)
    for number in range(tail):
        apply(state, FeedbackGiven(example_of({f"later {number}": 1.0, "f1": 1.0}), label=-1))
    restored = decode(*encode(copy))
    assert (copy.digest, restored.digest) == (digest, digest)
    assert list(restored.names) == names


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_digest_of_a_copy_is_that_of_the_state(algorithm: str) -> None:
    state = replay(random_log(11, algorithm))
    assert copy_state(state).digest == state.digest


def test_copying_changes_nothing() -> None:
    state = replay(random_log(12))
    before = state.digest
    encode(copy_state(state))
    assert state.digest == before


@pytest.mark.parametrize("more", [0, 1, 1000])
def test_allocated_memory_is_used_if_it_is_large_enough(more: int) -> None:
    state = replay(random_log(13))
    room = allocate_for(state)
    apply(state, FeedbackGiven(example_of({f"new {i}": 1.0 for i in range(more)}), label=1))
    copy = copy_state(state, room=room)
    assert copy.digest == state.digest
    assert np.shares_memory(copy.rows, room) == (more < 1000)


def test_extra_is_stored_but_not_part_of_the_digest() -> None:
    state = replay(random_log(14))
    header, chunk_bytes = encode(copy_state(state, extra={"chain": "abc", "born": "now"}))
    assert read_header(header).extra == {"chain": "abc", "born": "now"}
    assert decode(header, chunk_bytes).digest == state.digest == copy_state(state).digest


def test_a_state_can_be_copied_in_a_thread_while_others_score() -> None:
    state = replay(random_log(15))
    example = example_of({"f1": 1.0})
    before, headers = state.predict(example), []
    thread = threading.Thread(target=lambda: headers.append(encode(copy_state(state))[0]))
    thread.start()
    assert state.predict(example) == before
    thread.join()
    assert read_header(headers[0]).digest == state.digest


def test_the_memory_of_a_state_is_that_of_its_table_matrix_and_names() -> None:
    state = TenantState({"algorithm": "ssol-full"})
    apply(state, FeedbackGiven(example_of({f"name {i}": 1.0 for i in range(100)}), label=1))
    assert state.bytes == state.model.memory.rows.nbytes + state.model.dense.nbytes + state.names.nbytes
    assert state.names.nbytes > 1000
