"""Crafted model files with valid checksums and a valid digest, whatever they contain."""

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from app.api.schemas.tenants import TenantResponse
from app.learning.errors import BadSnapshot
from app.learning.events import FeaturesRemoved, FeedbackGiven, TenantConfigured
from app.learning.example import Example, example_of
from app.learning.replay import advance_all
from app.learning.snapshot.chunks import Data
from app.learning.snapshot.model_file import MAGIC, Chunk, _hash, _rebuild, dump, encode, load, read_header
from app.learning.snapshot.state_copy import copy_state
from app.learning.state import TenantState
from app.learning.summary import top_weights

Pieces = list[tuple[str, int, bytes]]


def split_model(state: TenantState) -> tuple[dict[str, Any], Pieces]:
    """Return the header of a valid model as plain JSON, and its chunks with their kinds and indices."""
    header, chunk_bytes = encode(copy_state(state))
    pieces = [(chunk.kind, chunk.index, bytes(chunk_bytes(chunk))) for chunk in read_header(header).chunks]
    return msgspec.json.decode(header), pieces


def build_model(header: Mapping[str, Any], pieces: Pieces) -> bytes:
    """Build a model file from these parts."""
    chunks = [Chunk(kind, index, len(data), _hash(data)) for kind, index, data in pieces]
    whole = dict(header) | {"chunks": chunks}
    encoded = msgspec.json.encode(whole | {"digest": _digest(msgspec.json.encode(whole), pieces)})
    return with_header(encoded) + b"".join(data for _, _, data in pieces)


def with_header(header: bytes) -> bytes:
    """The beginning of a model file with this header, valid or not."""
    return MAGIC + len(header).to_bytes(8, "little") + bytes.fromhex(_hash(header)) + header


def with_all_weights(state: TenantState, weight: float) -> bytes:
    """A model file in which every learnt number is `weight`."""
    header, pieces = split_model(state)
    for place, (kind, index, data) in enumerate(pieces):
        if kind == "rows" and not state.model.dense.size:
            rows = np.frombuffer(data).copy().reshape(-1, state.model.width)
            rows[:, 1:] = weight
            pieces[place] = (kind, index, rows.tobytes())
        if kind == "dense":
            pieces[place] = (kind, index, np.full(len(data) // 8, weight).tobytes())
    return build_model(header, pieces)


def exercise(state: TenantState) -> None:
    """Use a state in every way that a service does."""
    example = example_of({"a": 1.0, "b": -2.5, "f1": 0.5, "f2": 3.0})
    known = next(state.model.rows(), np.empty((0, state.model.width)))[:100, 0]
    examples = [example, Example(np.ascontiguousarray(known).view(np.uint64), np.ones(known.size))]
    for each in examples:
        state.predict(each)
        state.model.score(each)
        advance_all(state, [FeedbackGiven(each, 1), FeedbackGiven(each, -1)])
    advance_all(state, [FeedbackGiven(example_of({f"n{k}": 1.0 for k in range(100)}), 1)])
    TenantResponse.of("forged", state).model_dump_json()
    msgspec.json.encode(top_weights(state, 50))
    advance_all(state, [FeaturesRemoved(0.1, 0.5), TenantConfigured({"threshold": 1.0}), FeedbackGiven(example, 1)])
    if copy_state(state).is_finite:  # extreme weights overflow, and a model that is not finite is not written
        assert load(b"".join(dump(state))).digest == state.digest
    advance_all(state, [TenantConfigured({"algorithm": "cs-fsol"}), FeedbackGiven(example, 1)])


def _digest(header: bytes, pieces: Pieces) -> str:
    """The digest that the reader computes, if it gets that far."""
    held: dict[str, list[Data]] = {"rows": [], "dense": [], "names": [], "honest": []}
    for kind, _, data in pieces:
        held.setdefault(kind, []).append(data)
    try:
        return _rebuild(read_header(header), held).digest
    except BadSnapshot:
        return ""
