from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.learning.config import config_of
from app.learning.errors import BadSnapshot
from app.learning.events import Event, FeaturesRemoved, FeedbackGiven, TenantConfigured
from app.learning.example import Example, example_of, example_of_json, examples_of_json, joined
from app.learning.parts.numbers import describe, name_of_weight
from app.learning.replay import advance_all, replay
from app.learning.snapshot.model_file import dump, load
from app.learning.snapshot.state_copy import copy_state
from app.learning.state import TenantState, apply
from app.learning.summary import top_weights
from kernels.arrays import Floats
from tests.learning.logs import random_log

ENCODED = TenantConfigured({"numbers": "encoded"})
Features = dict[str, float]


def payments(seed: int, examples: int, rate: float = 0.02) -> Iterator[tuple[Features, int]]:
    rng = np.random.default_rng(seed)
    for _ in range(examples):
        is_fraud = rng.random() < rate
        amount = round(float(rng.lognormal(7.0, 0.8) if is_fraud else rng.lognormal(3.5, 1.0)), 2)
        hour = int(rng.integers(0, 6) if is_fraud else rng.integers(6, 24))
        yield {"amount": amount, "hour": hour, "retries": int(rng.poisson(2.0 if is_fraud else 0.3))}, is_fraud or -1


def two_tailed(seed: int, examples: int) -> Iterator[tuple[Features, int]]:
    rng = np.random.default_rng(seed)
    for _ in range(examples):
        is_odd = rng.random() < 0.02
        factor = (20.0 if rng.random() < 0.5 else 0.05) if is_odd else 1.0
        yield (
            {"size": rng.lognormal(4.0, 0.5) * factor, "noise": rng.normal(), "other": rng.uniform(0, 100)},
            is_odd or -1,
        )


def beside_words(seed: int, examples: int) -> Iterator[tuple[Features, int]]:
    rng = np.random.default_rng(seed)
    for _ in range(examples):
        is_odd = rng.random() < 0.02
        words = {f"word:{int(200.0 * rng.random() ** 2)}": 1.0 for _ in range(8)}
        yield words | {"age_days": rng.lognormal(1.0 if is_odd else 5.0, 0.8)}, is_odd or -1


def sensors(seed: int, examples: int) -> Iterator[tuple[Features, int]]:
    rng = np.random.default_rng(seed)
    for _ in range(examples):
        is_odd = rng.random() < 0.02
        kelvin = rng.normal(293.0, 4.0) + (14.0 if rng.random() < 0.5 else -14.0) * is_odd
        yield (
            {"kelvin": kelvin, "pascal": rng.normal(101_325.0, 300.0), "humidity": rng.normal(50.0, 5.0)},
            is_odd or -1,
        )


def changed_unit(seed: int, examples: int) -> Iterator[tuple[Features, int]]:
    for number, (features, label) in enumerate(payments(seed, examples)):
        yield features | {"amount": features["amount"] * (1000.0 if number > examples // 2 else 1.0)}, label


def best_balanced_accuracy(scores: Floats, labels: Floats) -> float:
    """The best of all thresholds, in hindsight."""
    order = np.argsort(-scores, kind="stable")
    found = np.cumsum(labels[order] > 0.0) / np.count_nonzero(labels > 0.0)
    spared = 1.0 - np.cumsum(labels[order] < 0.0) / np.count_nonzero(labels < 0.0)
    is_last_of_equals = np.append(np.diff(scores[order]) != 0.0, True)  # a threshold cannot divide equal scores
    return float(((found + spared) / 2.0)[is_last_of_equals].max())


Invented = Callable[[int, int], Iterator[tuple[Features, int]]]


@pytest.mark.parametrize("algorithm", ["cs-ssol", "cs-sol"])
@pytest.mark.parametrize(
    ("stream", "least"),
    [(payments, 0.97), (two_tailed, 0.97), (beside_words, 0.96), (sensors, 0.9), (changed_unit, 0.96)],
)
def test_encoded_numbers_of_any_scale_are_learnt(algorithm: str, stream: Invented, least: float) -> None:
    state = TenantState({"algorithm": algorithm, "numbers": "encoded"})
    labels = np.empty(12_000)
    scores = np.empty(12_000)
    for number, (features, label) in enumerate(stream(1, 12_000)):
        outcome = state.learn(FeedbackGiven(example_of(features), label))
        scores[number], labels[number] = outcome.score, label
    assert best_balanced_accuracy(scores[6_000:], labels[6_000:]) >= least


def log_of_numbers(seed: int, length: int) -> list[Event]:
    rng = np.random.default_rng(seed)
    log: list[Event] = [TenantConfigured({"algorithm": str(rng.choice(["cs-ssol", "cs-sol", "ftrl", "ssol-full"]))})]
    for features, label in payments(seed, length, rate=0.3):
        odd = {f"n{rng.integers(200)}": float(rng.choice([0.0, -0.0, 1.0, 5e-324, -7.5, 1e99, 3.0])) for _ in range(3)}
        example = example_of(features | odd)
        if rng.random() < 0.2:
            example = joined(example, example_of({"length": 77.0, "amount": 3.0}, is_given=False))
        log.append(FeedbackGiven(example, label))
        if rng.random() < 0.05:
            log.append(TenantConfigured({"numbers": str(rng.choice(["raw", "encoded"]))}))
        if rng.random() < 0.05:
            log.append(FeaturesRemoved(0.01, 1.0))
        if rng.random() < 0.02:
            log.append(TenantConfigured({"algorithm": str(rng.choice(["cs-fsol", "arow", "cs-sol"]))}))
    return log


@given(st.integers(0, 2**32 - 1), st.integers(1, 80))
def test_many_events_at_once_give_the_same_bits_as_one_by_one(seed: int, length: int) -> None:
    log = [ENCODED, *log_of_numbers(seed, length)]
    together = TenantState()
    advance_all(together, log)
    assert together.digest == replay(log).digest


@given(st.integers(0, 2**32 - 1), st.integers(0, 80), st.integers(0, 80))
def test_a_restored_state_continues_with_the_same_bits(seed: int, before: int, after: int) -> None:
    log = [ENCODED, *log_of_numbers(seed, before + after)]
    half, whole = replay(log[: before + 1]), replay(log)
    restored = load(b"".join(dump(half)))
    assert restored.digest == half.digest == copy_state(half).digest
    assert replay(log[before + 1 :], restored).digest == whole.digest


def test_statistics_are_part_of_the_digest_and_of_the_memory() -> None:
    one, other = (TenantState({"numbers": "encoded"}) for _ in range(2))
    example = example_of({f"n{k}": 5.0 + k for k in range(100)})
    for state in (one, other):
        state.learn(FeedbackGiven(example, 1))
    assert one.digest == other.digest
    assert other.model.numbers is not None
    before = other.bytes
    other.model.numbers.encode_and_count(
        np.array([0, 1]), example.keys[:1], example.values[:1], np.array([1]), other.config.settings()
    )
    assert one.digest != other.digest
    assert before == one.bytes > TenantState().bytes + 100 * 32


def test_a_change_to_raw_forgets_the_statistics() -> None:
    feedback = FeedbackGiven(example_of({"a": 5.0}), 1)
    state = replay([ENCODED, feedback, TenantConfigured({"numbers": "raw"}), ENCODED])
    assert state.model.numbers is not None
    assert len(state.model.numbers.rows()) == 0


def test_another_algorithm_keeps_the_setting() -> None:
    assert config_of({"numbers": "encoded"}).changed({"algorithm": "ftrl"}).encodes_numbers
    assert not config_of({}).changed({"algorithm": "ftrl"}).encodes_numbers


@pytest.mark.parametrize("values", [{"a": 1.0, "b": 1.0}, {"a": True, "b=text": 1.0}])
def test_booleans_and_texts_are_not_changed(values: Features) -> None:
    raw, encoded = TenantState(), TenantState({"numbers": "encoded"})
    for state in (raw, encoded):
        state.learn(FeedbackGiven(example_of(values), 1))
    assert raw.model.survey().weights.tobytes() == encoded.model.survey().weights.tobytes()
    assert raw.model.survey().keys.tobytes() == encoded.model.survey().keys.tobytes()


def test_features_of_a_featurizer_are_not_changed() -> None:
    raw, encoded = TenantState(), TenantState({"numbers": "encoded"})
    for event in random_log(1, length=200, restless=False)[1:]:
        assert isinstance(event, FeedbackGiven)
        found = Example(event.example.keys, event.example.values)
        for state in (raw, encoded):
            state.learn(FeedbackGiven(found, event.label))
    assert raw.model.memory.rows.tobytes() == encoded.model.memory.rows.tobytes()


def test_zero_is_a_feature_only_beside_other_numbers() -> None:
    state = TenantState({"numbers": "encoded"})
    for value in (0.0, 1.0, 0.0):
        state.learn(FeedbackGiven(example_of({"flag": value}), 1))
    assert state.model.features == 1
    for value in (7.0, 0.0):
        state.learn(FeedbackGiven(example_of({"count": value}), 1))
    key = example_of({"count": 0.0}).keys
    state.names.remember(key, ["count"])
    assert "count 0" in {weight["feature"] for weight in top_weights(state, 100)}


def test_a_batch_is_scored_as_its_examples_are() -> None:
    state = TenantState({"numbers": "encoded"})
    for features, label in payments(1, 300):
        state.learn(FeedbackGiven(example_of(features), label))
    texts = [b'{"amount": 1500.5, "hour": 3}', b'{"amount": 12, "retries": 0}', b'{"word": 1}']
    examples = examples_of_json(texts)
    assert examples is not None
    assert state.predict_all(examples) == [state.predict(example_of_json(text)) for text in texts]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1500.0, "amount 1,500 (1,024-2,048)"),
        (1234.5678, "amount 1,234.57 (1,024-2,048)"),
        (1048576.0, "amount 1,048,576 (1,048,576-2,097,152)"),
        (2.0, "amount 2 (2-4)"),
        (1.5, "amount 1.5 (1-2)"),
        (0.3, "amount 0.3 (0.25-0.5)"),
        (0.003, "amount 0.003 (0.00195-0.00391)"),
        (-20.0, "amount -20 (-32 to -16)"),
        (0.0, "amount 0"),
        (-0.0, "amount 0"),
        (1.0, "amount"),
        (1e30, "amount 1e+30 (1.84e+19 and more)"),
        (-1e30, "amount -1e+30 (-1.84e+19 and less)"),
        (1e-12, "amount 1e-12 (0-2.33e-10)"),
        (-5e-324, "amount -4.94e-324 (-2.33e-10 to 0)"),
        (123456789.0, "amount 123,456,789 (67,108,864-134,217,728)"),
    ],
)
def test_a_number_is_shown_with_its_range(value: float, text: str) -> None:
    assert describe("amount", value) == text


def test_the_contributions_of_all_bins_are_one_sum() -> None:
    state = TenantState({"numbers": "encoded"})
    for features, label in payments(1, 500):
        state.learn(FeedbackGiven(example_of(features), label))
    found = example_of({"length": 7.0}, is_given=False)
    example = joined(example_of({"amount": 1500.0, "hour": 3.0, "retries": 0.0}), found)
    score, keys, contributions = state.model.explain(example)
    assert contributions.sum() == pytest.approx(score)
    assert set(keys.tolist()) <= set(example.keys.tolist())
    assert np.count_nonzero(contributions) == 3


def test_weights_of_bins_have_the_name_and_the_values() -> None:
    state = TenantState({"numbers": "encoded"})
    for value in (1000.0, -1000.0, 1100.0, 0.0, 900.0, 1024.0, -5.0):
        example = example_of({"amount": value, "word": 1.0})
        state.learn(FeedbackGiven(example, 1 if value > 0.0 else -1))
        state.names.remember(example.keys, example.names)
    shown = {weight["feature"] for weight in top_weights(state, 1000)}
    assert {"amount", "word", "amount 768-1,536", "amount 960-1,152", "amount -1,536 to -768", "amount 0"} <= shown
    assert {"amount at its mean", "amount 1 deviation above its mean"} <= shown
    assert not {name for name in shown if name.startswith("#")}


def test_a_key_without_a_name_is_shown_as_it_is() -> None:
    assert name_of_weight(TenantState().names, 255) == "#00000000000000ff"


@pytest.mark.parametrize("column", [1, 3])
def test_impossible_statistics_are_refused(column: int) -> None:
    state = TenantState({"numbers": "encoded"})
    state.learn(FeedbackGiven(example_of({"a": 5.0}), 1))
    assert state.model.numbers is not None
    rows = state.model.numbers.rows()
    rows[0, column] = -1.0
    with pytest.raises(ValueError, match=r"statistics|variance"):
        state.model.numbers.restore(6, rows)
    with pytest.raises(ValueError, match="size of its table"):
        state.model.numbers.restore(0, state.model.numbers.rows())


def test_a_model_file_without_its_statistics_is_refused() -> None:
    state = TenantState({"numbers": "encoded"})
    state.learn(FeedbackGiven(example_of({"a": 5.0}), 1))
    whole = b"".join(dump(state))
    with pytest.raises(BadSnapshot):
        load(whole[:-32])


def test_one_example_with_many_numbers_makes_the_table_of_statistics_grow() -> None:
    state = TenantState({"numbers": "encoded"})
    apply(state, FeedbackGiven(example_of({f"f{k}": 2.0 + k for k in range(20_000)}), 1))
    assert state.model.numbers is not None
    assert len(state.model.numbers.rows()) == 20_000
    assert state.predict(example_of({"f7": 9.0}))[0] > 0.0
