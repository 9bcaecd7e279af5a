import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.learning.errors import BadExample, BadSetting
from app.learning.events import Event, FeaturesRemoved, FeedbackGiven, TenantConfigured
from app.learning.example import example_of, example_of_json, examples_of_json
from app.learning.replay import replay
from app.learning.state import TenantState, apply
from kernels.registry import ALGORITHMS
from tests.learning.logs import logs, random_log
from tests.streams import named, random_stream


def test_the_same_log_gives_the_same_state_bit_for_bit() -> None:
    assert replay(random_log(1)).digest == replay(random_log(1)).digest


def test_another_label_gives_another_digest() -> None:
    log = random_log(1)
    *_, last = (number for number, event in enumerate(log) if isinstance(event, FeedbackGiven))
    event = log[last]
    assert isinstance(event, FeedbackGiven)
    changed = [*log[:last], FeedbackGiven(event.example, -event.label), *log[last + 1 :]]
    assert replay(changed).digest != replay(log).digest


@given(logs(), st.data())
def test_replay_in_two_parts_equals_replay_in_one(log: list[Event], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(log)))
    assert replay(log[cut:], onto=replay(log[:cut])).digest == replay(log).digest


def test_many_predictions_are_what_each_of_them_is() -> None:
    state = replay(random_log(1))
    texts = [json.dumps(named(x)).encode() for x, _ in random_stream(5, examples=70)]
    examples = examples_of_json(texts)
    assert examples is not None
    assert state.predict_all(examples) == [state.predict(example_of_json(text)) for text in texts]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_batch_equals_its_examples_one_by_one(algorithm: str) -> None:
    singly, at_once = TenantState({"algorithm": algorithm}), TenantState({"algorithm": algorithm})
    examples = [(example_of(named(x)), label) for x, label in random_stream(3, examples=1500)]
    outcomes = [apply(singly, FeedbackGiven(example, label)) for example, label in examples]
    scores, _ = at_once.learn_batch(
        np.cumsum([0, *(example.keys.size for example, _ in examples)]),
        np.concatenate([example.keys for example, _ in examples]),
        np.concatenate([example.values for example, _ in examples]),
        np.array([float(label) for _, label in examples]),
    )
    assert scores.tolist() == [outcome.score for outcome in outcomes]
    assert at_once.digest == singly.digest


def test_feedback_reports_the_verdict_from_before_learning() -> None:
    state = TenantState({"algorithm": "fsol", "eta": 1.0})
    example = example_of({"a": 1.0})
    first = apply(state, FeedbackGiven(example, label=1))
    second = apply(state, FeedbackGiven(example, label=1))
    assert (first.version, first.score, first.predicted, first.loss, first.updated) == (1, 0.0, -1, 1.0, True)
    assert (second.version, second.score, second.predicted, second.loss, second.updated) == (2, 1.0, 1, 0.0, False)


def test_the_next_prediction_knows_the_label() -> None:
    state = TenantState()
    example = example_of({"a": 1.0, "b": 2.0})
    before, _ = state.predict(example)
    apply(state, FeedbackGiven(example, label=1))
    after, verdict = state.predict(example)
    assert before == 0.0
    assert after > 0.0
    assert verdict == 1


def test_the_logistic_loss_is_reported_where_the_algorithm_has_it() -> None:
    outcome = apply(TenantState({"algorithm": "ftrl"}), FeedbackGiven(example_of({"a": 1.0}), label=1))
    assert outcome.loss == pytest.approx(math.log(2.0))


def test_the_squared_hinge_continues_as_a_line() -> None:
    loss = TenantState({"algorithm": "cs-sol"}).model.loss
    assert [loss(margin) for margin in (2.0, 1.0, 0.0, -1.0, -2.0, -3.0)] == [0.0, 0.0, 1.0, 4.0, 8.0, 12.0]


def test_a_tie_is_normal_and_the_threshold_decides() -> None:
    assert TenantState().verdict(0.0) == -1
    assert TenantState({"threshold": -0.5}).verdict(0.0) == 1


@pytest.mark.parametrize("label", [0, 2, -2])
def test_a_label_that_is_not_one_is_refused_and_changes_nothing(label: int) -> None:
    state = replay(random_log(2))
    before = state.digest
    with pytest.raises(BadExample, match=f"label is {label}"):
        apply(state, FeedbackGiven(example_of({"a": 1.0}), label))
    assert state.digest == before


def test_a_refused_configuration_changes_nothing() -> None:
    state = replay(random_log(2))
    before = state.digest
    with pytest.raises(BadSetting, match="eta is -1"):
        apply(state, TenantConfigured({"eta": -1.0}))
    assert state.digest == before


def test_a_configuration_that_keeps_the_meaning_keeps_the_weights() -> None:
    state = TenantState({"algorithm": "ssol"})
    apply(state, FeedbackGiven(example_of({"a": 1.0}), label=1))
    apply(state, TenantConfigured({"algorithm": "cs-ssol", "eta": 3.0}))
    assert state.config.values["eta"] == 3.0
    assert state.predict(example_of({"a": 1.0}))[0] > 0.0


def test_another_kind_of_algorithm_resets_the_model_but_keeps_the_counts() -> None:
    state = TenantState({"algorithm": "ssol"})
    apply(state, FeedbackGiven(example_of({"a": 1.0}), label=1))
    outcome = apply(state, TenantConfigured({"algorithm": "ftrl"}))
    assert outcome.updated
    assert state.predict(example_of({"a": 1.0}))[0] == 0.0
    assert state.prequential.lifetime.examples == 1
    assert state.version == 2


def test_removed_features_are_counted_in_the_outcome() -> None:
    state = TenantState({"algorithm": "cs-ssol"})
    for x, label in random_stream(1):
        apply(state, FeedbackGiven(example_of(named(x)), label))
    features = state.model.features
    outcome = apply(state, FeaturesRemoved(weight_at_most=0.1, evidence_at_most=1e9))
    assert outcome.removed == features - state.model.features > 0


def test_names_of_new_features_are_kept_and_not_part_of_the_digest() -> None:
    state, nameless = TenantState(), TenantState()
    example = example_of({"token:free": 1.0})
    apply(state, FeedbackGiven(example, label=1))
    apply(nameless, FeedbackGiven(type(example)(example.keys, example.values), label=1))
    assert state.names.name_of(int(example.keys[0])) == "token:free"
    assert state.digest == nameless.digest
