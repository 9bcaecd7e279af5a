import math
from typing import Any

import pytest

from app.features.featurizer import VERSIONS
from app.learning.config import (
    ADDED_LATER,
    ALWAYS,
    COSTS,
    DEFAULTS,
    FEATURIZERS,
    RULES,
    WITH_COSTS,
    Config,
    Value,
    config_of,
)
from app.learning.errors import BadSetting, short_repr
from kernels.learner import options as place
from kernels.registry import ALGORITHMS, load

each_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS)

# For every setting: an algorithm that knows it, values that are fine, and values that are refused.
NUMBERS_REFUSED: list[Any] = [math.nan, math.inf, -math.inf, True, False, "1", [1.0], {}, 10**400, -(10**400)]
SCALES_REFUSED = [*NUMBERS_REFUSED, None, 0.0, -1.0, 1e-13, 1.1e12]
WHOLE_REFUSED: list[Any] = [0, -1, 1.0, 1.5, True, "1", None, math.nan, math.inf, 10**400]
CHOICE_REFUSED: list[Any] = ["", "L2", None, 0, 1, 1.0, [], {}]
CASES: dict[str, tuple[str, list[Any], list[Any]]] = {
    "eta": ("cs-ssol", [1e-12, 1, 2.5, 1e12], SCALES_REFUSED),
    "r": ("cs-ssol", [1e-12, 1, 2.5, 1e12], SCALES_REFUSED),
    "delta": ("ada-rda", [1e-12, 1, 2.5, 1e12], SCALES_REFUSED),
    "lambda": ("cs-ssol", [0, 0.0, 1e-30, 3, 1e12], [*NUMBERS_REFUSED, None, -1e-9, 1.1e12]),
    "lambda_schedule": ("fsol", list(place.SCHEDULES), [*CHOICE_REFUSED, "sqrt"]),
    "target_sparsity": ("fsol", [None, 0.001, 0.5, 0.999999], [*NUMBERS_REFUSED, 0.0, 0, 1.0, 1, -0.5, 0.9999999]),
    "costs": ("cs-ogd", ["given", "auto"], [*CHOICE_REFUSED, True, "automatic"]),
    "cost_positive": ("cs-ogd", [1e-12, 1, 2.5, 1e12], SCALES_REFUSED),
    "cost_negative": ("cs-ogd", [1e-12, 1, 2.5, 1e12], SCALES_REFUSED),
    "mu_positive": ("cs-ogd", [0.001, 0.5, 0.999], [*NUMBERS_REFUSED, None, 0.0, 1.0, 1, -0.5]),
    "denominator": ("ssol", ["shared", "coordinate"], [*CHOICE_REFUSED, "own"]),
    "threshold_on": ("ssol-full", ["u", "theta"], [*CHOICE_REFUSED, "w"]),
    "forgetting": ("fsol", [0, 0.0, 0.25, 0.5], [*NUMBERS_REFUSED, None, -0.1, 0.51, 1]),
    "truncate_every": ("stg", [1, 10, 1_000_000_000], [*WHOLE_REFUSED, 1_000_000_001]),
    "truncate_below": ("stg", [None, 0, 0.0, 3.5, 1e12], [*NUMBERS_REFUSED, -0.1, 1.1e12]),
    "normalize": ("arow", ["l2", "none"], [*CHOICE_REFUSED, True, False]),
    "bias": ("arow", [True, False], [None, 0, 1, 0.0, 1.0, "true", "", []]),
    "threshold": ("arow", [0, -1.5, 1e12, -1e12, "auto"], [*NUMBERS_REFUSED, None, 1.1e12, "automatic"]),
    "objective": ("arow", [None, "balanced", "error"], ["", "BALANCED", "accuracy", 0, 1, True, 1.0, [], {}]),
    "target": ("arow", [None], ["", "recall", 0, 1, True, 1.0, [], {}]),
    "target_value": ("arow", [None], [*NUMBERS_REFUSED, 0.0, -1.0, 1.1e9]),
    "max_features": ("arow", [1, 1 << 31], [*WHOLE_REFUSED, (1 << 31) + 1]),
    "keep_inputs": ("arow", ["none", "review", "all"], [None, True, "", "some", 1, []]),
    "keep_predictions": ("arow", [True, False], [None, 0, 1, 0.0, 1.0, "true", "", []]),
    "numbers": ("arow", ["raw", "encoded"], [*CHOICE_REFUSED, True, "Encoded"]),
    "review_uncertain": ("arow", [0, 0.0], [*NUMBERS_REFUSED, None, -0.1, 1.1]),
    "review_flagged": ("arow", [0, 0.0], [*NUMBERS_REFUSED, None, -0.1, 1.1]),
    "review_random": ("arow", [0, 0.0, 1e-6, 0.5, 1], [*NUMBERS_REFUSED, None, -0.1, 1e-7, 1.1]),
    "review_band": ("arow", [0, 0.05, 1], [*NUMBERS_REFUSED, None, -0.1, 1.1]),
    "reviews_per_day": ("arow", [None, 0.001, 200, 1e9], [*NUMBERS_REFUSED, 0, -1, 1.1e9]),
    "featurizer": ("arow", list(FEATURIZERS), [*WHOLE_REFUSED, FEATURIZERS[-1] + 1]),
}
ACCEPTED = [(name, algorithm, value) for name, (algorithm, fine, _) in CASES.items() for value in fine]
REFUSED = [(name, algorithm, value) for name, (algorithm, _, wrong) in CASES.items() for value in wrong]


def known_to(algorithm: str) -> frozenset[str]:
    options = load(algorithm).options
    return ALWAYS | options | (WITH_COSTS if "costs" in options else frozenset())


def test_every_setting_has_a_rule_and_a_case_here() -> None:
    assert RULES.keys() == DEFAULTS.keys() == CASES.keys() | {"algorithm"}


@each_algorithm
def test_the_values_in_force_are_the_defaults_of_the_algorithm_before_the_common_ones(algorithm: str) -> None:
    expected = DEFAULTS | dict(load(algorithm).defaults) | {"algorithm": algorithm}
    in_force = known_to(algorithm) - COSTS  # which are estimated, not given
    assert config_of({"algorithm": algorithm}).values == {name: expected[name] for name in in_force}


@each_algorithm
def test_the_defaults_of_an_algorithm_follow_the_rules(algorithm: str) -> None:
    defaults = config_of({"algorithm": algorithm}).values
    assert config_of(defaults).values == defaults


def test_the_versions_of_featurizers_that_may_be_set_are_those_that_exist() -> None:
    assert FEATURIZERS == VERSIONS


def test_a_tenant_that_was_never_given_a_featurizer_has_the_first() -> None:
    assert config_of({}).featurizer == VERSIONS[0] == 1


def test_settings_added_later_are_stored_only_if_they_differ() -> None:
    config = config_of({})
    assert config.stored == {name: value for name, value in config.values.items() if name not in ADDED_LATER}
    other = Config(dict(config.values) | {"featurizer": 2})
    assert other.stored == config.stored | {"featurizer": 2}


def test_without_settings_cs_ssol_with_automatic_costs_is_in_force() -> None:
    values = config_of({}).values
    assert (values["algorithm"], values["costs"]) == ("cs-ssol", "auto")


@pytest.mark.parametrize(("name", "algorithm", "value"), ACCEPTED)
def test_a_valid_value_is_in_force(name: str, algorithm: str, value: Value) -> None:
    assert config_of({"algorithm": algorithm, name: value}).values[name] == value


@pytest.mark.parametrize(("name", "algorithm", "value"), REFUSED)
def test_a_refusal_names_the_setting_and_the_value(name: str, algorithm: str, value: Value) -> None:
    with pytest.raises(BadSetting) as refusal:
        config_of({"algorithm": algorithm, name: value})
    assert str(refusal.value).startswith(f"{name} is {short_repr(value)[:40]}")


def test_an_integer_too_long_to_be_printed_is_refused_like_any_other() -> None:
    with pytest.raises(BadSetting, match="eta"):
        config_of({"eta": 10**5000})


@pytest.mark.parametrize("algorithm", ["", "CS-SSOL", "svm", None, 1, True])
def test_an_unknown_algorithm_is_refused_with_a_list_of_all(algorithm: Value) -> None:
    with pytest.raises(BadSetting) as refusal:
        config_of({"algorithm": algorithm})
    assert str(refusal.value) == f"algorithm {algorithm!r} is unknown; it must be one of {', '.join(ALGORITHMS)}"


def test_an_algorithm_that_cannot_be_looked_up_is_refused() -> None:
    unhashable: Any = ["fsol"]
    with pytest.raises(BadSetting, match="algorithm"):
        config_of({"algorithm": unhashable})


UNUSED = [(algorithm, name) for algorithm in ALGORITHMS for name in DEFAULTS.keys() - known_to(algorithm)]


@pytest.mark.parametrize(("algorithm", "name"), sorted(UNUSED))
def test_an_option_that_the_algorithm_does_not_use_is_refused_by_name(algorithm: str, name: str) -> None:
    with pytest.raises(BadSetting, match=f"^{algorithm} does not use '{name}'"):
        config_of({"algorithm": algorithm, name: CASES[name][1][-1]})


@each_algorithm
def test_a_setting_that_does_not_exist_is_refused_with_those_that_do(algorithm: str) -> None:
    with pytest.raises(BadSetting) as refusal:
        config_of({"algorithm": algorithm, "learning_rate": 0.1})
    assert "'learning_rate' does not exist" in str(refusal.value)
    assert ", ".join(sorted(known_to(algorithm))) in str(refusal.value)


@pytest.mark.parametrize("name", ["cost_positive", "cost_negative"])
def test_a_cost_that_is_given_is_used(name: str) -> None:
    assert config_of({name: 5.0}).values["costs"] == "given"


def test_without_a_cost_the_costs_are_automatic() -> None:
    assert config_of({"mu_positive": 0.3}).values["costs"] == "auto"


def test_target_sparsity_and_lambda_exclude_each_other() -> None:
    with pytest.raises(BadSetting, match="target_sparsity and lambda are both set"):
        config_of({"target_sparsity": 0.5, "lambda": 0.1})


@pytest.mark.parametrize(
    "given_both", [{"target_sparsity": 0.5, "lambda": 0.0}, {"target_sparsity": None, "lambda": 0.1}]
)
def test_target_sparsity_and_lambda_may_both_be_set_if_one_is_off(given_both: dict[str, Value]) -> None:
    assert config_of(given_both).values.items() >= given_both.items()


@pytest.mark.parametrize("whole", [1, 3])
@pytest.mark.parametrize("name", ["eta", "lambda", "threshold"])
def test_a_whole_number_becomes_a_float(name: str, whole: int) -> None:
    assert type(config_of({name: whole}).values[name]) is float


def test_equal_bounds_of_truncation_are_the_same_value_in_force() -> None:
    whole, broken = (config_of({"algorithm": "stg", "truncate_below": bound}).values for bound in (5, 5.0))
    assert repr(whole) == repr(broken)


@pytest.mark.parametrize("algorithm", ["ssol-full", "cs-ssol-full"])
def test_the_full_matrix_refuses_more_features_than_it_is_limited_to(algorithm: str) -> None:
    with pytest.raises(BadSetting, match="max_features"):
        config_of({"algorithm": algorithm, "max_features": 16_385})


def test_a_refusal_does_not_change_its_input() -> None:
    settings: dict[str, Value] = {"eta": 1.0, "r": -1.0}
    with pytest.raises(BadSetting):
        config_of(settings)
    assert settings == {"eta": 1.0, "r": -1.0}


def test_a_learnt_threshold_is_for_balanced_accuracy_unless_another_objective_is_given() -> None:
    assert config_of({"threshold": "auto"}).values["objective"] == "balanced"
    assert config_of({"threshold": "auto", "objective": "error"}).values["objective"] == "error"
    assert config_of({}).changed({"threshold": "auto"}).values["objective"] == "balanced"
    assert config_of({"objective": "error"}).changed({"threshold": "auto"}).values["objective"] == "error"


def test_a_learnt_threshold_needs_an_objective() -> None:
    with pytest.raises(BadSetting, match="needs an objective"):
        config_of({"threshold": "auto", "objective": None})
    with pytest.raises(BadSetting, match="needs an objective"):
        config_of({"threshold": "auto"}).changed({"objective": None})


def test_an_objective_may_be_given_without_a_learnt_threshold_and_be_taken_back() -> None:
    config = config_of({"objective": "balanced", "threshold": 0.25})
    assert (config.threshold, config.is_calibrated) == (0.25, True)
    assert not config.changed({"objective": None}).is_calibrated


def test_the_objective_cost_needs_costs() -> None:
    with pytest.raises(BadSetting, match="needs cost_positive and cost_negative"):
        config_of({"objective": "cost"})
    with pytest.raises(BadSetting, match="needs cost_positive and cost_negative"):
        config_of({"algorithm": "fsol", "objective": "cost"})
    given = config_of({"objective": "cost", "cost_positive": 20.0})
    assert (given.values["costs"], given.values["objective"]) == ("given", "cost")
    with pytest.raises(BadSetting, match="needs cost_positive and cost_negative"):
        given.changed({"costs": "auto"})
