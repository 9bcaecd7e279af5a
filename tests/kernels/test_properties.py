"""One set of checks, run on every algorithm."""

import math
from collections.abc import Iterator

import numpy as np
import pytest

from app.learning.config import Value, config_of
from app.learning.errors import BadExample
from app.learning.example import Example, Examples, example_of
from app.learning.model import FULL_VALUE, Model
from app.learning.parts.names import BIAS_KEY
from kernels.learner.totals import BIAS
from kernels.registry import ALGORITHMS, load
from tests.streams import named, random_stream

FULL = ("ssol-full", "cs-ssol-full")
every_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS)


def trained(algorithm: str, seed: int = 0, examples: int = 200, **settings: Value) -> Model:
    model = Model(config_of({"algorithm": algorithm, **settings}))
    for x, label in random_stream(seed, examples):
        model.learn(example_of(named(x)), label)
    return model


def memory_of(model: Model) -> tuple[bytes, bytes, bytes]:
    return model.memory.rows.tobytes(), model.tally.tobytes(), model.dense.tobytes()


def weights_of(model: Model) -> dict[int, float]:
    survey = model.survey()
    return dict(zip(survey.keys.tolist(), survey.weights.tolist(), strict=True))


def fresh_examples() -> Iterator[Example]:
    for x, _ in random_stream(seed=99, examples=50):
        yield example_of(named(x))


def batch_of(examples: list[Example]) -> Examples:
    starts = np.cumsum([0, *(example.keys.size for example in examples)])
    keys = np.concatenate([np.empty(0, np.uint64), *(example.keys for example in examples)])
    return Examples(starts, keys, np.concatenate([np.empty(0), *(example.values for example in examples)]))


@every_algorithm
def test_scoring_writes_nothing(algorithm: str) -> None:
    model = trained(algorithm)
    before = memory_of(model)
    for example in fresh_examples():
        model.score(example)
    model.score(example_of({"never seen": 3.0}))
    assert memory_of(model) == before


@every_algorithm
def test_a_score_is_bit_for_bit_what_learning_reports(algorithm: str) -> None:
    model = trained(algorithm)
    for number, example in enumerate(fresh_examples()):
        score = model.score(example)[0]
        assert model.learn(example, 1 if number % 5 == 0 else -1) == score


@every_algorithm
def test_contributions_add_up_to_the_score(algorithm: str) -> None:
    model = trained(algorithm)
    offset = model.score(example_of({}))[0]  # b of PAUM, 0 elsewhere
    for example in fresh_examples():
        score, _, contributions = model.score(example)
        assert math.isclose(contributions.sum() + offset, score, rel_tol=1e-12, abs_tol=1e-12)


@every_algorithm
def test_the_order_of_features_changes_no_bit(algorithm: str) -> None:
    one, other = (Model(config_of({"algorithm": algorithm})) for _ in range(2))
    rng = np.random.default_rng(1)
    for x, label in random_stream(seed=4):
        features = list(named(x).items())
        one.learn(example_of(dict(features)), label)
        rng.shuffle(features)
        other.learn(example_of(dict(features)), label)
    assert memory_of(one) == memory_of(other)


@every_algorithm
@pytest.mark.parametrize("settings", [{}, {"bias": True}, {"target_sparsity": 0.3}, {"forgetting": 0.4}])
def test_the_stream_form_equals_learning_one_by_one(algorithm: str, settings: dict[str, Value]) -> None:
    known = {name: value for name, value in settings.items() if name in load(algorithm).options | {"bias"}}
    singly, streamed = (Model(config_of({"algorithm": algorithm, **known})) for _ in range(2))
    examples = [
        (example_of(named(x)), label) for x, label in random_stream(seed=6, examples=400, dimension=300, active=40)
    ]
    scores = [singly.learn(example, label) for example, label in examples]
    given = batch_of([example for example, _ in examples])
    batch = streamed.canonical(given.starts, given.keys, given.values)
    assert streamed.stream(*batch, np.array([float(label) for _, label in examples])).tolist() == scores
    assert memory_of(streamed) == memory_of(singly)


@every_algorithm
@pytest.mark.parametrize("settings", [{}, {"bias": True}, {"lambda": 0.01}, {"forgetting": 0.4}, {"normalize": "none"}])
def test_scores_of_a_batch_are_bit_for_bit_the_scores_one_by_one(algorithm: str, settings: dict[str, Value]) -> None:
    known = {name: value for name, value in settings.items() if name in load(algorithm).options | {"bias", "normalize"}}
    model = trained(algorithm, **known)  # type: ignore[arg-type]  # no setting is named `seed`
    unknown, empty = example_of({f"never seen {i}": 1.0 for i in range(50)}), example_of({})
    examples = [empty, *fresh_examples(), unknown, empty, *fresh_examples(), empty]
    before = memory_of(model)
    scores = model.score_all(batch_of(examples))
    assert scores.tobytes() == np.array([model.score(example)[0] for example in examples]).tobytes()
    assert memory_of(model) == before


@every_algorithm
def test_no_example_has_no_score(algorithm: str) -> None:
    assert trained(algorithm).score_all(batch_of([])).size == 0


@every_algorithm
def test_features_may_appear_at_any_time(algorithm: str) -> None:
    model = trained(algorithm)
    known = model.features
    model.learn(example_of({f"new{i}": 1.0 for i in range(500)}), 1)
    assert model.features == known + 500


@every_algorithm
def test_the_zero_vector_scores_zero_and_moves_no_weight(algorithm: str) -> None:
    model = trained(algorithm)
    before = weights_of(model)
    offset = model.tally[BIAS] if algorithm == "paum" else 0.0
    assert model.score(example_of({}))[0] == offset
    assert model.learn(example_of({}), 1) == offset
    assert weights_of(model) == before


@every_algorithm
def test_a_new_model_scores_zero(algorithm: str) -> None:
    assert Model(config_of({"algorithm": algorithm, "bias": True})).score(example_of({"a": 1.0}))[0] == 0.0


@every_algorithm
def test_untouched_features_keep_their_weight_without_lambda(algorithm: str) -> None:
    model = trained(algorithm)
    before = weights_of(model)
    model.learn(example_of({"elsewhere": 1.0}), -1)
    after = weights_of(model)
    assert all(after[key] == weight for key, weight in before.items())


@every_algorithm
@pytest.mark.parametrize("size", [1e-300, 1e-100, 1e-8, 1e8, 1e50, 1e100])
@pytest.mark.parametrize("normalize", ["l2", "none"])
def test_extreme_values_stay_finite_and_disable_no_feature(algorithm: str, size: float, normalize: str) -> None:
    model = Model(config_of({"algorithm": algorithm, "normalize": normalize}))
    if algorithm in FULL and normalize == "none" and size > FULL_VALUE:
        return  # refused: see the next test
    rng = np.random.default_rng(7)
    for number in range(60):
        features = {f"f{i}": float(size * rng.uniform(-1.0, 1.0)) for i in rng.integers(20, size=5)}
        score = model.learn(example_of(features | {"small": 1.0}), 1 if number % 3 == 0 else -1)
        assert math.isfinite(score)
    survey = model.survey()
    assert np.isfinite(survey.weights).all()
    assert np.isfinite(survey.evidence).all()
    for _ in range(300):
        model.learn(example_of({"small": 1.0}), 1)
    assert model.score(example_of({"small": 1.0}))[0] > 0.0


@pytest.mark.parametrize("algorithm", FULL)
def test_a_full_matrix_rejects_values_beyond_its_precision(algorithm: str) -> None:
    model = Model(config_of({"algorithm": algorithm, "normalize": "none"}))
    for refused in (lambda example: model.learn(example, 1), model.score, lambda bad: model.score_all(batch_of([bad]))):
        with pytest.raises(BadExample, match="a full matrix without normalize = l2 accepts at most 1e"):
            refused(example_of({"a": 1.01 * FULL_VALUE}))
    assert model.features == 0


@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if "costs" in load(name).options])
def test_a_higher_cost_of_anomalies_never_lowers_the_score_of_one_just_missed(algorithm: str) -> None:
    example = example_of({"a": 1.0, "b": 1.0})
    scores = []
    for cost in (0.25, 0.5, 1.0, 2.0, 4.0, 8.0):
        model = Model(config_of({"algorithm": algorithm, "cost_positive": cost, "cost_negative": 1.0, "eta": 2.0}))
        model.learn(example, -1)
        model.learn(example, 1)
        scores.append(model.score(example)[0])
    assert scores == sorted(scores)
    assert scores[0] < scores[-1] or algorithm == "paum"  # its cost is a margin, not a rate


@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if "costs" in load(name).options])
def test_estimated_costs_find_more_of_a_rare_class(algorithm: str) -> None:
    found = {}
    for costs in ("given", "auto"):
        model = Model(config_of({"algorithm": algorithm, "costs": costs}))
        hits = 0
        for x, label in random_stream(seed=8, examples=3000, positive=0.02):
            score = model.learn(example_of(named(x)), label)
            hits += label == 1 and score > 0.0
        found[costs] = hits
    assert found["auto"] > found["given"]


@every_algorithm
def test_memory_is_bounded_by_the_limit(algorithm: str) -> None:
    model = Model(config_of({"algorithm": algorithm, "max_features": 100}))
    for number in range(300):
        example = example_of({"known": 1.0, f"new{number}": 1.0})
        score = model.score(example)[0]
        assert model.learn(example, 1 if number % 2 else -1) == score
    assert model.features == 100
    assert model.dropped == 201
    size = model.bytes
    before = weights_of(model)
    for number in range(50):
        model.learn(example_of({"known": 1.0, f"later{number}": 1.0}), -1)
    assert model.bytes == size
    assert weights_of(model) != before  # known features still learn


@every_algorithm
def test_duplicate_names_add_up(algorithm: str) -> None:
    twice, once = (Model(config_of({"algorithm": algorithm, "normalize": "none"})) for _ in range(2))
    single = example_of({"a": 3.0, "b": 1.0})
    double = Example(np.append(single.keys, single.keys[:1]), np.array([1.0, 1.0, 2.0]))
    for label in (1, -1, 1):
        assert twice.learn(double, label) == once.learn(single, label)
    assert memory_of(twice) == memory_of(once)


@every_algorithm
def test_removal_drops_only_what_is_negligible_and_is_repeatable(algorithm: str) -> None:
    models = [trained(algorithm, examples=300, normalize="l2") for _ in range(2)]
    survey = models[0].survey()
    bound = float(np.median(np.abs(survey.weights)))
    expected = {
        key
        for key, weight, evidence in zip(survey.keys.tolist(), survey.weights, survey.evidence, strict=True)
        if abs(weight) > bound or evidence > 1e9
    }
    removed = [model.remove(weight_at_most=bound, evidence_at_most=1e9) for model in models]
    assert set(weights_of(models[0])) == expected
    assert removed == [len(survey.keys) - len(expected)] * 2
    assert memory_of(models[0]) == memory_of(models[1])
    assert math.isfinite(models[0].learn(example_of({"f1": 1.0, "f2": 1.0}), 1))


@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if "target_sparsity" in load(name).options])
@pytest.mark.parametrize("target", [0.5, 0.9])
def test_the_target_sparsity_is_met_right_after_sampling(algorithm: str, target: float) -> None:
    model = trained(algorithm, seed=3, examples=1024, target_sparsity=target)
    weights = model.survey().weights
    assert np.mean(np.abs(weights) <= 1e-12) >= target


@every_algorithm
def test_the_bias_is_a_feature_of_its_own(algorithm: str) -> None:
    model = trained(algorithm, bias=True)
    assert BIAS_KEY in weights_of(model)
