"""What bounds the feature table: the tenant's limit, crafted names, and bytes per feature."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.learning.model import Model
from kernels.registry import ALGORITHMS
from kernels.table.rows import PROBES
from tests.kernels.tables import (
    LARGEST_KEY,
    bits_of,
    content,
    example,
    fsol,
    is_laid_out,
    learn_one_by_one,
    model_of,
    random_keys,
)

BYTES_PER_ROW = 16
FLOOD = 20_000
FLOODS = {
    "first home slot": range(LARGEST_KEY - FLOOD + 1, LARGEST_KEY + 1),
    "a home slot in the middle": range(1 << 63, (1 << 63) + FLOOD),
    "last home slot": range(1, FLOOD + 1),
    "two neighbouring home slots": [(1 << 63) + side + i for i in range(FLOOD // 2) for side in (-(1 << 40), 0)],
}
each_flood = pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS)
each_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS)


def flooded(flood: range | list[int]) -> Model:
    model = fsol()
    learn_one_by_one(model, flood)
    return model


@given(keys=st.lists(st.integers(1, LARGEST_KEY), max_size=40, unique=True), limit=st.integers(1, 30))
def test_a_table_has_no_more_features_than_its_limit(keys: list[int], limit: int) -> None:
    model = model_of(max_features=limit)
    model.learn(example(keys), 1)
    assert model.features == min(limit, len(keys))


@given(batches=st.lists(st.lists(st.integers(1, 40), max_size=20, unique=True), max_size=10), limit=st.integers(1, 30))
def test_every_new_feature_beyond_the_limit_is_counted_as_dropped(batches: list[list[int]], limit: int) -> None:
    model, known, dropped = model_of(max_features=limit), set[int](), 0
    for keys in batches:
        model.learn(example(keys), 1)
        for key in sorted(set(keys) - known):
            if len(known) < limit:
                known.add(key)
            else:
                dropped += 1
    assert (model.features, model.dropped) == (len(known), dropped)


def test_known_features_continue_to_learn_at_the_limit() -> None:
    model = model_of(algorithm="fsol", eta=1.0, normalize="none", max_features=2)
    for _ in range(3):
        model.learn(example([5, 6, 7], 0.125), 1)
    assert content(model) == {5: (0.375,), 6: (0.375,)}


@each_algorithm
def test_at_the_limit_a_score_is_still_the_one_that_learning_reports(algorithm: str) -> None:
    model, rng = model_of(algorithm=algorithm, max_features=20, bias=True), np.random.default_rng(6)
    for _ in range(300):
        given_example = example(rng.choice(60, rng.integers(0, 9), replace=False) + 1, rng.normal())
        score, _, _ = model.score(given_example)
        assert model.learn(given_example, int(rng.choice([1, -1]))) == score
    assert model.features == 20


def test_a_lower_limit_drops_new_features_and_keeps_the_old() -> None:
    model = fsol()
    learn_one_by_one(model, range(1, 101))
    model.configure(model.config.changed({"max_features": 10}))
    learn_one_by_one(model, range(51, 151))
    assert (model.features, model.dropped) == (100, 50)


@each_flood
def test_crafted_keys_beyond_the_longest_probe_are_counted_as_dropped(flood: range | list[int]) -> None:
    model = flooded(flood)
    assert model.features + model.dropped == FLOOD
    assert model.features <= 4 * (int(PROBES) + 1)


@each_flood
def test_crafted_keys_stop_growing_the_table(flood: range | list[int]) -> None:
    model = flooded(flood)
    before = model.bytes
    learn_one_by_one(model, flood)
    assert model.bytes == before
    assert model.bytes < 20 * BYTES_PER_ROW * model.features


@each_flood
def test_crafted_keys_in_one_example_have_the_same_effect_as_one_by_one(flood: range | list[int]) -> None:
    model = fsol()
    model.learn(example(flood), 1)
    assert model.features + model.dropped == FLOOD
    assert is_laid_out(model)


@each_flood
def test_crafted_keys_evict_no_known_feature(flood: range | list[int]) -> None:
    keys, model = random_keys(7, 500), fsol()
    learn_one_by_one(model, keys)
    learn_one_by_one(model, flood)
    assert content(model).keys() >= set(keys)
    assert is_laid_out(model)


@each_flood
def test_a_flooded_table_still_scores_as_learning_reports(flood: range | list[int]) -> None:
    model = flooded(flood)
    for start in range(0, FLOOD, 997):
        given_example = example(flood[start : start + 50], 0.1)
        score, _, _ = model.score(given_example)
        assert model.learn(given_example, -1) == score


@each_flood
def test_a_flooded_table_still_accepts_other_features(flood: range | list[int]) -> None:
    model, keys = flooded(flood), random_keys(8, 30_000)
    before = model.dropped
    learn_one_by_one(model, keys)
    assert model.dropped - before < 10
    assert is_laid_out(model)


@each_flood
def test_the_other_features_of_a_flooded_table_can_be_removed(flood: range | list[int]) -> None:
    model = fsol()
    model.learn(example(random_keys(9, 50_000), 0.01), 1)
    learn_one_by_one(model, flood)
    crafted = model.features - 50_000
    model.remove(0.5, 0.5)
    assert is_laid_out(model)
    assert model.features == crafted


@each_flood
def test_a_table_that_shrank_around_crafted_keys_still_learns(flood: range | list[int]) -> None:
    model = fsol()
    model.learn(example(random_keys(9, 50_000), 0.01), 1)
    learn_one_by_one(model, flood)
    model.remove(0.5, 0.5)
    learn_one_by_one(model, flood)
    learn_one_by_one(model, random_keys(10, 5000))
    assert is_laid_out(model)


def test_a_table_grows_through_many_doublings() -> None:
    keys, model = random_keys(11, 300_000), fsol()
    learn_one_by_one(model, keys)
    assert content(model) == dict.fromkeys(keys, (1.0,))
    assert bits_of(model) == 19
    assert is_laid_out(model)


def test_a_feature_takes_at_most_64_bytes_while_the_table_grows() -> None:
    keys, model = random_keys(12, 300_000), model_of()
    most = 0.0
    for key in keys:
        model.learn(example([key]), 1)
        if model.features >= 1000:
            most = max(most, model.bytes / model.features)
    assert most <= 64.0
