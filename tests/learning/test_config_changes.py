"""Changing a configuration, and how kernels read it."""

import math

import pytest

from app.learning.config import Value, config_of
from app.learning.errors import BadSetting
from kernels.learner import options as place
from kernels.registry import ALGORITHMS, load

each_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS)
COMMON: dict[str, Value] = {"normalize": "none", "bias": True, "threshold": 0.25, "keep_predictions": False}


@each_algorithm
def test_no_change_changes_nothing(algorithm: str) -> None:
    config = config_of({"algorithm": algorithm, **COMMON})
    assert config.changed({}).values == config.values


@each_algorithm
def test_a_change_replaces_what_it_names_and_nothing_else(algorithm: str) -> None:
    before = config_of({"algorithm": algorithm, **COMMON}).values
    assert config_of(before).changed({"threshold": 2.0}).values == {**before, "threshold": 2.0}


def test_a_change_leaves_the_old_configuration_as_it_was() -> None:
    config = config_of({"eta": 2.0})
    config.changed({"eta": 3.0})
    assert config.values["eta"] == 2.0


def test_a_change_may_name_the_algorithm_that_is_in_force() -> None:
    config = config_of({"algorithm": "fsol", "eta": 3.0})
    assert config.changed({"algorithm": "fsol", "threshold": 1.0}).values["eta"] == 3.0


@each_algorithm
def test_another_algorithm_starts_from_its_own_defaults(algorithm: str) -> None:
    other = "fsol" if algorithm != "fsol" else "cs-ogd"
    config = config_of({"algorithm": other, "eta": 3.25})
    assert config.changed({"algorithm": algorithm}).values == config_of({"algorithm": algorithm}).values


@each_algorithm
def test_another_algorithm_keeps_the_common_settings(algorithm: str) -> None:
    other = "fsol" if algorithm != "fsol" else "cs-ogd"
    config = config_of({"algorithm": other, **COMMON}).changed({"algorithm": algorithm})
    assert config.values.items() >= COMMON.items()


def test_another_algorithm_may_come_with_its_settings() -> None:
    config = config_of({"algorithm": "fsol", "eta": 3.25}).changed({"algorithm": "ssol", "r": 7.0, "bias": True})
    assert (config.values["algorithm"], config.values["r"], config.values["bias"]) == ("ssol", 7.0, True)


def test_a_change_that_the_algorithm_does_not_use_is_refused() -> None:
    with pytest.raises(BadSetting, match=r"^fsol does not use 'r'"):
        config_of({"algorithm": "fsol"}).changed({"r": 1.0})


def test_a_change_to_an_unknown_algorithm_is_refused() -> None:
    with pytest.raises(BadSetting, match=r"^algorithm 'svm' is unknown"):
        config_of({}).changed({"algorithm": "svm"})


def test_a_target_sparsity_replaces_lambda() -> None:
    values = config_of({"lambda": 0.5}).changed({"target_sparsity": 0.9}).values
    assert (values["target_sparsity"], values["lambda"]) == (0.9, 0.0)


def test_a_lambda_replaces_the_target_sparsity() -> None:
    values = config_of({"target_sparsity": 0.9}).changed({"lambda": 0.5}).values
    assert (values["target_sparsity"], values["lambda"]) == (None, 0.5)


def test_a_lambda_of_0_replaces_the_target_sparsity_too() -> None:
    values = config_of({"target_sparsity": 0.9}).changed({"lambda": 0.0}).values
    assert (values["target_sparsity"], values["lambda"]) == (None, 0.0)


def test_a_change_to_both_lambda_and_target_sparsity_is_refused() -> None:
    with pytest.raises(BadSetting, match="set one of them, not both"):
        config_of({"target_sparsity": 0.9}).changed({"lambda": 0.5, "target_sparsity": 0.5})


def test_removing_the_target_sparsity_leaves_lambda_at_0() -> None:
    values = config_of({"target_sparsity": 0.9}).changed({"target_sparsity": None}).values
    assert (values["target_sparsity"], values["lambda"]) == (None, 0.0)


@pytest.mark.parametrize("name", ["cost_positive", "cost_negative"])
def test_a_cost_that_is_changed_is_used(name: str) -> None:
    config = config_of({}).changed({name: 5.0})
    assert (config.values["costs"], config.values[name]) == ("given", 5.0)


def test_a_change_elsewhere_leaves_automatic_costs_automatic() -> None:
    assert config_of({"costs": "auto"}).changed({"threshold": 1.0}).values["costs"] == "auto"


def test_costs_can_be_made_automatic_again() -> None:
    assert config_of({"cost_positive": 5.0}).changed({"costs": "auto"}).values["costs"] == "auto"


ENCODED = [
    ("cs-ssol", "eta", 2.5, place.ETA, 2.5),
    ("cs-ssol", "r", 2.5, place.R, 2.5),
    ("ada-rda", "delta", 2.5, place.DELTA, 2.5),
    ("cs-ssol", "lambda", 2.5, place.LAMBDA0, 2.5),
    ("cs-ssol", "lambda_schedule", "constant", place.SCHEDULE, place.CONSTANT),
    ("cs-ssol", "lambda_schedule", "eta", place.SCHEDULE, place.TIMES_ETA),
    ("cs-ssol", "lambda_schedule", "inverse_t", place.SCHEDULE, place.INVERSE_T),
    ("cs-ssol", "lambda_schedule", "sqrt_t", place.SCHEDULE, place.SQRT_T),
    ("cs-ssol", "lambda_schedule", "linear", place.SCHEDULE, place.LINEAR),
    ("cs-ssol", "target_sparsity", 0.25, place.TARGET, 0.25),
    ("cs-ssol", "target_sparsity", None, place.TARGET, 0.0),
    ("cs-ssol", "cost_positive", 2.5, place.COST_POSITIVE, 2.5),
    ("cs-ssol", "cost_negative", 2.5, place.COST_NEGATIVE, 2.5),
    ("cs-ssol", "costs", "auto", place.AUTO_COSTS, 1.0),
    ("cs-ssol", "costs", "given", place.AUTO_COSTS, 0.0),
    ("cs-ssol", "cost_positive", 2.5, place.AUTO_COSTS, 0.0),
    ("cs-ssol", "mu_positive", 0.75, place.ODDS, 3.0),
    ("cs-ssol", "denominator", "shared", place.COORDINATE, 0.0),
    ("cs-ssol", "denominator", "coordinate", place.COORDINATE, 1.0),
    ("cs-ssol", "threshold_on", "u", place.ON_THETA, 0.0),
    ("cs-ssol", "threshold_on", "theta", place.ON_THETA, 1.0),
    ("cs-ssol", "forgetting", 0.25, place.KEEP, 0.75),
    ("stg", "truncate_every", 7, place.TRUNCATE_EVERY, 7.0),
    ("stg", "truncate_below", 2.5, place.TRUNCATE_BELOW, 2.5),
    ("stg", "truncate_below", 0.0, place.TRUNCATE_BELOW, 0.0),
    ("stg", "truncate_below", None, place.TRUNCATE_BELOW, math.inf),
    ("cs-ssol", "max_features", 77, place.LIMIT, 77.0),
    ("cs-ssol", "costs", "auto", place.HALVED, 10.0),
    ("cs-sol", "costs", "auto", place.HALVED, 1000.0),
]


@pytest.mark.parametrize(("algorithm", "name", "value", "index", "expected"), ENCODED)
def test_kernels_read_what_was_set(algorithm: str, name: str, value: Value, index: int, expected: float) -> None:
    assert config_of({"algorithm": algorithm, name: value}).settings()[index] == expected


def test_every_place_of_the_settings_is_covered_here() -> None:
    assert {index for _, _, _, index, _ in ENCODED} == set(range(place.SIZE))


@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if "costs" not in load(name).options])
def test_an_algorithm_without_costs_has_the_cost_1_for_both_classes(algorithm: str) -> None:
    array = config_of({"algorithm": algorithm}).settings()
    assert array[[place.COST_POSITIVE, place.COST_NEGATIVE, place.AUTO_COSTS]].tolist() == [1.0, 1.0, 0.0]


@each_algorithm
def test_unused_settings_have_no_effect(algorithm: str) -> None:
    array, options = config_of({"algorithm": algorithm}).settings(), load(algorithm).options
    assert "forgetting" in options or array[place.KEEP] == 1.0
    assert "target_sparsity" in options or array[place.TARGET] == 0.0


@pytest.mark.parametrize(("normalize", "l2"), [("l2", True), ("none", False)])
def test_normalize_is_l2_or_none(normalize: str, l2: bool) -> None:
    assert config_of({"normalize": normalize}).l2 is l2


def test_the_kernels_of_a_configuration_are_those_of_its_algorithm() -> None:
    assert config_of({"algorithm": "fsol"}).algorithm is load("fsol")
