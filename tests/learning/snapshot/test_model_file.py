from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.learning.errors import BadSnapshot
from app.learning.events import Event, FeedbackGiven
from app.learning.example import Example, example_of
from app.learning.replay import replay
from app.learning.snapshot.model_file import (
    FORMAT,
    MAGIC,
    _hash,
    changed_chunks,
    decode,
    dump,
    encode,
    load,
    read_header,
)
from app.learning.snapshot.state_copy import copy_state
from app.learning.state import TenantState, apply
from kernels.feature_hash import key_of
from kernels.registry import ALGORITHMS
from tests.learning.logs import logs, random_log


def model_file(state: TenantState) -> bytes:
    return b"".join(dump(state))


@given(logs(), st.data())
def test_snapshot_plus_tail_equals_uninterrupted_learning(log: list[Event], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(log)))
    restored = load(model_file(replay(log[:cut])))
    assert replay(log[cut:], onto=restored).digest == replay(log).digest


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_restored_model_is_equal_in_memory(algorithm: str) -> None:
    state = replay(random_log(5, algorithm, restless=False))
    restored = load(model_file(state))
    assert restored.model.memory.rows.tobytes() == state.model.memory.rows.tobytes()
    assert restored.model.tally.tobytes() == state.model.tally.tobytes()
    assert restored.model.dense.tobytes() == state.model.dense.tobytes()
    assert restored.prequential.recent == state.prequential.recent
    assert list(restored.names) == list(state.names)
    assert restored.config == state.config


def test_a_new_state_can_be_saved() -> None:
    assert load(model_file(TenantState())).digest == TenantState().digest


def large_state() -> TenantState:
    state = TenantState()
    rng = np.random.default_rng(0)
    keys = rng.integers(1, 2**64 - 1, size=100_000, dtype=np.uint64)
    labels = np.where(rng.random(1000) < 0.5, 1.0, -1.0)
    state.learn_batch(np.arange(1001) * 100, keys, rng.normal(size=keys.size), labels)
    return state


def test_only_the_chunks_that_changed_need_to_be_written_again() -> None:
    state = large_state()
    older, chunk_bytes = encode(copy_state(state))
    store = {chunk.hash: chunk_bytes(chunk) for chunk in read_header(older).chunks}
    rows = next(state.model.rows())
    touched = Example(np.ascontiguousarray(rows[:3, 0]).view(np.uint64), np.ones(3))
    apply(state, FeedbackGiven(touched, label=1))
    header, chunk_bytes = encode(copy_state(state))
    new = changed_chunks(header, older)
    assert len(new) == 1
    assert len(read_header(header).chunks) > 30
    store |= {chunk.hash: chunk_bytes(chunk) for chunk in new}
    assert decode(header, lambda chunk: store[chunk.hash]).digest == state.digest


def test_chunks_do_not_depend_on_the_order_of_learning() -> None:
    def chunks(order: list[int]) -> list[str]:
        state = TenantState({"algorithm": "fsol", "normalize": "none"})
        for number in order:
            apply(state, FeedbackGiven(example_of({f"f{number}": 1.0}), label=1))
        return [chunk.hash for chunk in read_header(encode(copy_state(state))[0]).chunks if chunk.kind == "rows"]

    assert chunks(list(range(500))) == chunks(list(reversed(range(500))))


@given(st.data())
def test_a_flipped_bit_anywhere_is_detected(data: st.DataObject) -> None:
    sound = model_file(replay(random_log(3, length=20)))
    damaged = bytearray(sound)
    damaged[data.draw(st.integers(0, len(sound) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(BadSnapshot):
        load(bytes(damaged))


@given(st.data())
def test_a_truncated_model_is_refused(data: st.DataObject) -> None:
    sound = model_file(replay(random_log(3, length=20)))
    with pytest.raises(BadSnapshot):
        load(sound[: data.draw(st.integers(0, len(sound) - 1))])


def test_trailing_bytes_are_refused() -> None:
    with pytest.raises(BadSnapshot, match="should have"):
        load(model_file(TenantState()) + b"x")


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "it is empty"),
        (b"\x1f\x8b\x08\x00", "gzip"),
        (b"\xfd7zXZ\x00", "xz"),
        (b"\x80\x04\x95", "pickle, which Sluice never reads"),
        (b'{"a": 1}', "JSON"),
        (b"+1 3:1 4:1\n", "begins with"),
    ],
)
def test_a_file_of_another_kind_is_refused_with_its_kind(data: bytes, sentence: str) -> None:
    with pytest.raises(BadSnapshot, match=sentence):
        load(data)


def test_a_model_of_a_later_format_is_refused_by_its_number() -> None:
    header, chunk_bytes = encode(copy_state(TenantState()))
    later = msgspec.json.encode(msgspec.json.decode(header) | {"format": FORMAT + 1})
    with pytest.raises(BadSnapshot, match=f"format {FORMAT + 1}; this version of Sluice reads format {FORMAT}"):
        decode(later, chunk_bytes)


@pytest.mark.parametrize(
    "change",
    [
        {"config": {"algorithm": "magic"}},
        {"tally": [1.0]},
        {"ring": "AAAA"},
        {"counts": []},
        {"version": 1},
        {"dense": 3},
        {"tally": [1e300] * 12},
        {"served": [1, 2]},
        {"served": [9, 9, 9, 9]},
        {"served": [1e30, 0, 0, 0]},
        {"extra": {"number": 1}},
    ],
)
def test_a_valid_header_with_inconsistent_content_is_refused(change: dict[str, Any]) -> None:
    header, chunk_bytes = encode(copy_state(replay(random_log(3))))
    with pytest.raises(BadSnapshot):
        decode(msgspec.json.encode(msgspec.json.decode(header) | change), chunk_bytes)


def test_an_invalid_window_of_verdicts_is_refused_even_with_a_valid_digest() -> None:
    state = replay(random_log(3))
    state.prequential.ring[0] = 4
    with pytest.raises(BadSnapshot, match="its window of verdicts is invalid"):
        load(model_file(state))


def named_state(count: int) -> TenantState:
    state = TenantState()
    for start in range(0, count, 100):
        apply(state, FeedbackGiven(example_of({f"name {i}": 1.0 for i in range(start, start + 100)}), label=1))
    return state


def test_a_new_name_changes_one_chunk_of_names() -> None:
    state = named_state(20_000)
    older = encode(copy_state(state))[0]
    state.names.remember([key_of("another")], ["another"])
    header, _ = encode(copy_state(state))
    kinds = [chunk.kind for chunk in read_header(header).chunks]
    assert [chunk.kind for chunk in changed_chunks(header, older)] == ["names"]
    assert kinds.count("names") == kinds.count("rows") == 8


def test_names_are_restored_from_many_chunks() -> None:
    state = named_state(20_000)
    assert list(load(model_file(state)).names) == list(state.names)


@pytest.mark.parametrize("data", [b"", b"\1", (1).to_bytes(8, "little"), (2**60).to_bytes(8, "little") + 12 * b"a"])
def test_inconsistent_chunks_of_names_are_refused(data: bytes) -> None:
    header, chunk_bytes = encode(copy_state(named_state(100)))
    read = read_header(header)
    false = [
        msgspec.structs.replace(chunk, size=len(data), hash=_hash(data)) if chunk.kind == "names" else chunk
        for chunk in read.chunks
    ]
    damaged = msgspec.json.encode(msgspec.structs.replace(read, chunks=false))
    with pytest.raises(BadSnapshot):
        decode(damaged, lambda chunk: data if chunk.kind == "names" else chunk_bytes(chunk))


def test_the_file_begins_with_its_name() -> None:
    assert model_file(TenantState()).startswith(MAGIC)
