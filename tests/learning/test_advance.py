"""Advancing along a log never fails, and a batch gives the same state as single events."""

import re
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.learning.events import Event, FeaturesRemoved, FeedbackGiven, Served, TenantConfigured
from app.learning.example import Example, example_of, example_of_json
from app.learning.parts.confusion import Confusion
from app.learning.parts.names import Names
from app.learning.replay import BATCH_EVENTS, advance_all, replay
from app.learning.state import TenantState, advance, apply
from kernels.registry import ALGORITHMS
from tests.learning.logs import random_log

FULL: dict[str, float | str | bool | None] = {"algorithm": "ssol-full", "normalize": "none"}
numbers = st.sampled_from([0.0, 1.0, -0.5, 2e6, 1e-3])
feature_names = st.text("abcdefgh", min_size=1, max_size=2)
examples = st.builds(example_of, st.dictionaries(feature_names, numbers, max_size=6)) | st.just(
    example_of_json(b'{"lazy": 1, "a": 0.25}')
)
partly_named = st.builds(lambda example: Example(example.keys, example.values, [""] * example.keys.size), examples)
nameless = st.builds(lambda example: Example(example.keys, example.values), examples)
verdicts = st.none() | st.builds(Served, st.sampled_from([1, -1, 0]), st.floats(-2.0, 2.0))
feedback = st.builds(FeedbackGiven, examples | nameless | partly_named, st.sampled_from([1, 1, -1, -1, 0, 3]), verdicts)
settings = st.one_of(
    st.builds(lambda name: {"algorithm": name}, st.sampled_from(list(ALGORITHMS))),
    st.just({**FULL}),
    st.builds(lambda limit: {"max_features": limit}, st.integers(0, 8)),
    st.just({"threshold": 0.1, "bias": True}),
    st.just({"eta": -1.0}),
    st.just({"keep_predictions": False}),
)
removals = st.builds(FeaturesRemoved, st.floats(0.0, 1.0), st.floats(0.0, 5.0))
events = st.one_of(feedback, feedback, feedback, feedback, st.builds(TenantConfigured, settings), removals)


def state_of(log: Sequence[Event], names_at_most: int = 1000) -> TenantState:
    state = TenantState()
    state.names = Names(names_at_most)
    for event in log:
        advance(state, event)
    return state


@given(log=st.lists(events, max_size=60), names_at_most=st.sampled_from([3, 1000]))
def test_many_at_once_equal_one_by_one(log: list[Event], names_at_most: int) -> None:
    singly, at_once = state_of(log, names_at_most), TenantState()
    at_once.names = Names(names_at_most)
    advance_all(at_once, log)
    assert at_once.digest == singly.digest
    assert at_once.version == len(log)
    assert list(at_once.names) == list(singly.names)
    assert at_once.prequential.served == singly.prequential.served


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_long_log_at_once_equals_one_by_one(algorithm: str) -> None:
    log = random_log(7, algorithm, length=BATCH_EVENTS // 10)
    at_once = TenantState()
    advance_all(at_once, 11 * log)
    singly = replay(11 * log)
    assert (at_once.digest, list(at_once.names)) == (singly.digest, list(singly.names))


def test_a_run_may_be_longer_than_what_is_learnt_at_once() -> None:
    log = (2 * BATCH_EVENTS + 1) * [FeedbackGiven(example_of({"a": 1.0}), label=1)]
    state = TenantState()
    advance_all(state, log)
    assert state.digest == replay(log).digest


def test_no_events_change_nothing() -> None:
    state = TenantState()
    advance_all(state, [])
    assert state.digest == TenantState().digest


REFUSED: list[tuple[Event, str]] = [
    (FeedbackGiven(example_of({"a": 1.0}), label=0), "label is 0; it must be 1"),
    (FeedbackGiven(example_of({"a": 1.0}), 1, Served(label=2, score=0.0)), "the served label is 2"),
    (FeedbackGiven(example_of({"new": 2e6}), label=1), "a value has the magnitude 2e[+]06"),
    (TenantConfigured({"eta": -1.0}), "eta is -1.0"),
    (TenantConfigured({"algorithm": "ftrl", "r": 1.0}), "ftrl does not use 'r'"),
    (TenantConfigured({"lambda": 0.1, "target_sparsity": 0.5}), "set one of them"),
    (TenantConfigured({"threshold": 3.0, "max_features": 99_999}), "keeps a full matrix"),
]


def with_full_matrix() -> TenantState:
    log: list[Event] = [TenantConfigured(FULL), *(FeedbackGiven(example_of({"a": 1.0, "b": 0.5}), 1) for _ in range(3))]
    return replay(log)


@pytest.mark.parametrize(("event", "sentence"), REFUSED)
def test_a_refused_event_counts_as_a_version_and_changes_nothing_else(event: Event, sentence: str) -> None:
    state = with_full_matrix()
    before = everything(state)
    outcome = advance(state, event)
    assert outcome.refused is not None
    assert re.search(sentence, outcome.refused)
    assert (outcome.version, outcome.updated, outcome.score) == (5, False, None)
    assert state.version == 5
    state.version = 4
    assert everything(state) == before


def test_an_event_that_is_not_refused_advances_as_it_is_applied() -> None:
    event = FeedbackGiven(example_of({"a": 1.0}), label=1)
    advanced, applied = TenantState(), TenantState()
    assert advance(advanced, event) == apply(applied, event)
    assert advanced.digest == applied.digest


def test_served_verdicts_are_counted_beside_those_of_the_model_now() -> None:
    state = TenantState()
    example = example_of({"a": 1.0})
    given_and_served = [(1, 1), (1, -1), (1, -1), (-1, 1), (-1, 1), (-1, 1), (-1, -1)]
    for label, served in given_and_served:
        apply(state, FeedbackGiven(example, label, Served(served, 0.5)))
    apply(state, FeedbackGiven(example, 1))
    assert state.prequential.served == Confusion(1, 3, 2, 1)
    assert state.prequential.lifetime.examples == 8


def test_a_served_verdict_is_part_of_the_digest() -> None:
    example = example_of({"a": 1.0})
    digests = {replay([FeedbackGiven(example, 1, served)]).digest for served in (None, Served(1, 0.0), Served(-1, 0.0))}
    assert len(digests) == 3


def test_only_names_in_events_are_kept() -> None:
    state = TenantState()
    example = example_of({"known": 1.0, "new": 1.0})
    apply(state, FeedbackGiven(Example(example.keys, example.values, ["", "new"]), label=1))
    assert [name for _, name in state.names] == ["new"]
    assert state.unnamed(example.keys).tolist() == [0]


def test_a_model_at_its_limit_asks_for_no_more_names() -> None:
    state = TenantState({"max_features": 1})
    assert state.unnamed(example_of({"b": 1.0}).keys).tolist() == [0]
    apply(state, FeedbackGiven(example_of({"a": 1.0}), label=1))
    assert state.unnamed(example_of({"b": 1.0}).keys).tolist() == []


def everything(state: TenantState) -> tuple[object, ...]:
    arrays = (state.model.memory.rows, state.model.dense, state.model.tally, *state.prequential.arrays())
    return state.digest, list(state.names), dict(state.config.values), [np.array(array).tobytes() for array in arrays]
