"""A tenant's configuration: the algorithm and its options, validated, with every value in force."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.learning.errors import BadSetting, short_repr
from app.learning.honest.target import check_target, implied_by_target, settle_objective
from app.learning.rules import FLAG, HUGE, TINY, Rule, number, one_of, one_of_or_none, or_text, whole, zero_or
from kernels.arrays import Floats
from kernels.evaluation.calibration import OBJECTIVES
from kernels.evaluation.curve import TARGETS
from kernels.learner import options
from kernels.registry import ALGORITHMS, Algorithm, load

Value = float | str | bool | None
Target = tuple[int, float]

DEFAULTS: dict[str, Value] = {
    "algorithm": "cs-ssol",
    "eta": 1.0,
    "r": 1.0,
    "delta": 0.1,
    "lambda": 0.0,
    "lambda_schedule": "constant",
    "target_sparsity": None,
    "costs": "auto",
    "cost_positive": 1.0,
    "cost_negative": 1.0,
    "mu_positive": 0.5,
    "denominator": "shared",
    "threshold_on": "u",
    "forgetting": 0.0,
    "truncate_every": 10,
    "truncate_below": None,
    "normalize": "l2",
    "bias": False,
    "threshold": 0.0,
    "objective": None,
    "target": None,
    "target_value": None,
    "max_features": 4_194_304,
    "keep_predictions": True,
    "keep_inputs": "none",
    "featurizer": 1,
    "numbers": "raw",
    "review_uncertain": 0.0,
    "review_flagged": 0.0,
    "review_random": 0.0,
    "review_band": 0.05,
    "reviews_per_day": None,
}
REVIEW = frozenset({"review_uncertain", "review_flagged", "review_random", "review_band", "reviews_per_day"})
ALWAYS = frozenset(
    {
        "algorithm", "normalize", "bias", "threshold", "objective", "target", "target_value", "max_features",
        "keep_predictions", "keep_inputs", "featurizer", "numbers", *REVIEW,
    }
)  # fmt: skip
AUTO = "auto"
# The command line does not offer them: the service alone uses them, or they have options of their own.
SERVICE_ONLY = frozenset({"keep_predictions", "keep_inputs", "featurizer", "target", "target_value"}) | REVIEW
# Versions of the featurizer. A tenant that was never given one keeps the first.
FEATURIZERS = (1,)
# Settings added later. They are stored only if they differ from the default, so that older snapshots keep their digest.
ADDED_LATER = frozenset({"featurizer", "objective", "numbers", "keep_inputs", "target", "target_value"}) | REVIEW
# How numbers of callers become features. The features of a form never change; a better encoding becomes a new value.
NUMBERS = ("raw", "encoded")
# Which raw inputs are kept beside their predictions: none, those that people are to review, or all.
KEPT_INPUTS = ("none", "review", "all")
NUMBERED = ("index",)  # the state of algorithms with a full matrix: the feature's row in it
MOST_FULL_FEATURES = 16_384  # of a full matrix: 2 GiB
WHOLE = frozenset({"truncate_every", "max_features", "featurizer"})
COSTS = frozenset({"cost_positive", "cost_negative"})
WITH_COSTS = COSTS | {"costs", "mu_positive"}


@dataclass(frozen=True, slots=True)
class Config:
    """The values in force, by their names in the API; only those that the algorithm uses."""

    values: Mapping[str, Value]

    @property
    def algorithm(self) -> Algorithm:
        """The kernels of the algorithm."""
        return load(str(self.values["algorithm"]))

    @property
    def l2(self) -> bool:
        """Whether examples are scaled to length 1."""
        return self.values["normalize"] == "l2"

    @property
    def bias(self) -> bool:
        """Whether examples get the bias feature."""
        return bool(self.values["bias"])

    @property
    def threshold(self) -> float | None:
        """Scores above the threshold are anomalies; None if it is learnt."""
        threshold = self.values["threshold"]
        return None if threshold == AUTO else float(threshold or 0.0)

    @property
    def is_calibrated(self) -> bool:
        """Whether the scores of labelled examples are kept, for a threshold and probabilities."""
        return self.values["objective"] is not None

    @property
    def target(self) -> Target:
        """What the threshold follows, as the kernel takes it: an index of TARGETS, 0 for none, and the value."""
        name, value = self.values["target"], self.values["target_value"]
        return (0, 0.0) if name is None else (TARGETS.index(str(name)), float(value or 0.0))

    @property
    def featurizer(self) -> int:
        """The version of the featurizer."""
        version = self.values["featurizer"]
        assert isinstance(version, int)
        return version

    @property
    def encodes_numbers(self) -> bool:
        """Whether numbers that callers give are encoded."""
        return self.values["numbers"] == "encoded"

    @property
    def stored(self) -> dict[str, Value]:
        """The values as they are stored and hashed."""
        return {
            name: value for name, value in self.values.items() if name not in ADDED_LATER or value != DEFAULTS[name]
        }

    def changed(self, changes: Mapping[str, Value]) -> "Config":
        """Return this configuration with some values replaced; another algorithm starts from its own defaults."""
        if changes.get("algorithm", self.values["algorithm"]) != self.values["algorithm"]:
            return config_of(self._common() | implied_by_target(changes) | dict(changes))
        dropped = COSTS if changes.get("costs") == "auto" else frozenset()
        kept = {name: value for name, value in self.values.items() if name not in dropped}
        if kept["objective"] is None:
            del kept["objective"]  # it may follow from the threshold
        return config_of(kept | _implied(changes) | dict(changes))

    def _common(self) -> dict[str, Value]:
        """Return what another algorithm takes over: the options of all algorithms, and max_features if it was set."""
        own = DEFAULTS | dict(self.algorithm.defaults)
        return {
            name: self.values[name]
            for name in ALWAYS - {"algorithm"}
            if name not in {"max_features", "objective"} or self.values[name] != own[name]
        }

    def settings(self) -> Floats:
        """Return the values as an array for the kernels."""
        known = DEFAULTS | dict(self.values)
        if "costs" not in self.values:
            known |= {"costs": "given", "cost_positive": 1.0, "cost_negative": 1.0}
        array = np.zeros(options.SIZE)
        for index, value in _encode(known).items():
            array[index] = value
        array[options.HALVED] = self.algorithm.imbalance_halved
        return array


def defaults_of(name: str) -> dict[str, Value]:
    """Return every setting that an algorithm has, with its default."""
    algorithm = load(name)
    known = ALWAYS | algorithm.options | (WITH_COSTS if "costs" in algorithm.options else frozenset())
    return {key: value for key, value in (DEFAULTS | dict(algorithm.defaults)).items() if key in known}


def config_of(given: Mapping[str, Value]) -> Config:
    """Validate settings, fill in the algorithm's defaults, and reject settings that the algorithm does not use."""
    name = given.get("algorithm", DEFAULTS["algorithm"])
    if not isinstance(name, str) or name not in ALGORITHMS:
        raise BadSetting(f"algorithm {name!r} is unknown; it must be one of {', '.join(ALGORITHMS)}")
    values = defaults_of(name)
    _reject_unknown(given, values.keys(), name)
    if given.get("target_sparsity") is not None and given.get("lambda"):
        raise BadSetting(
            "target_sparsity and lambda are both set, but target_sparsity adjusts lambda: set one of them, not both"
        )
    if COSTS & given.keys():
        values["costs"] = "given"
    values |= {key: _validated(key, value) for key, value in given.items()}
    if values.get("costs") == "auto":
        if COSTS & given.keys():
            raise BadSetting(
                "costs is 'auto', which ignores cost_positive and cost_negative: set costs to 'given', or set no cost"
            )
        values = {key: value for key, value in values.items() if key not in COSTS}
    settle_objective(values, given)
    check_target(values)
    _check_review(values)
    if load(name).state == NUMBERED and values["max_features"] > MOST_FULL_FEATURES:  # type: ignore[operator]
        raise BadSetting(
            f"max_features is {values['max_features']:,}; {name} keeps a full matrix and allows {MOST_FULL_FEATURES:,}"
        )
    return Config(values)


def _reject_unknown(given: Mapping[str, Value], known: Collection[str], algorithm: str) -> None:
    for name in given:
        if name not in DEFAULTS:
            raise BadSetting(f"setting {name!r} does not exist; {algorithm} has {', '.join(sorted(known))}")
        if name not in known:
            raise BadSetting(f"{algorithm} does not use {name!r}; it has {', '.join(sorted(known))}")


def _check_review(values: Mapping[str, Value]) -> None:
    for name in ("review_uncertain", "review_flagged"):
        if values[name] and not values["review_random"]:
            raise BadSetting(
                f"{name} is {values[name]}, but review_random is 0: predictions that can never be chosen would leave "
                "the accuracy of all predictions unknown. Set review_random as well, for example to 0.01"
            )


def _implied(changes: Mapping[str, Value]) -> dict[str, Value]:
    """Return what a change implies: a cost sets costs to given; lambda and target_sparsity replace each other."""
    implied: dict[str, Value] = {"costs": "given"} if COSTS & changes.keys() else {}
    if changes.get("target_sparsity") is not None:
        implied["lambda"] = 0.0
    elif "lambda" in changes:
        implied["target_sparsity"] = None
    return implied | implied_by_target(changes)


def _validated(name: str, value: Value) -> Value:
    rule = RULES[name]
    if not rule.is_valid(value):
        raise BadSetting(f"{name} is {short_repr(value)}; it must be {rule.expected}")
    return value if value is None or isinstance(value, str | bool) or name in WHOLE else float(value)


def _encode(known: Mapping[str, Any]) -> dict[int, float]:
    below = known["truncate_below"]
    return {
        options.ETA: known["eta"],
        options.R: known["r"],
        options.DELTA: known["delta"],
        options.LAMBDA0: known["lambda"],
        options.SCHEDULE: options.SCHEDULES.index(known["lambda_schedule"]),
        options.TARGET: known["target_sparsity"] or 0.0,
        options.COST_POSITIVE: known["cost_positive"],
        options.COST_NEGATIVE: known["cost_negative"],
        options.AUTO_COSTS: known["costs"] == "auto",
        options.ODDS: known["mu_positive"] / (1.0 - known["mu_positive"]),
        options.COORDINATE: known["denominator"] == "coordinate",
        options.ON_THETA: known["threshold_on"] == "theta",
        options.KEEP: 1.0 - known["forgetting"],
        options.TRUNCATE_EVERY: known["truncate_every"],
        options.TRUNCATE_BELOW: math.inf if below is None else below,
        options.LIMIT: known["max_features"],
    }


RULES: dict[str, Rule] = {
    "algorithm": one_of(*ALGORITHMS),
    "eta": number("a number from 1e-12 to 1e12", TINY, HUGE),
    "r": number("a number from 1e-12 to 1e12", TINY, HUGE),
    "delta": number("a number from 1e-12 to 1e12", TINY, HUGE),
    "lambda": number("a number from 0 to 1e12", 0.0, HUGE),
    "lambda_schedule": one_of(*options.SCHEDULES),
    "target_sparsity": number("a number from 0.001 to 0.999999, or null", 1e-3, 0.999999, or_none=True),
    "costs": one_of("given", "auto"),
    "cost_positive": number("a number from 1e-12 to 1e12", TINY, HUGE),
    "cost_negative": number("a number from 1e-12 to 1e12", TINY, HUGE),
    "mu_positive": number("a number from 0.001 to 0.999", 1e-3, 0.999),
    "denominator": one_of("shared", "coordinate"),
    "threshold_on": one_of("u", "theta"),
    "forgetting": number("a number from 0 to 0.5", 0.0, 0.5),
    "truncate_every": whole(1, 1_000_000_000),
    "truncate_below": number("a number from 0 to 1e12, or null for no bound", 0.0, HUGE, or_none=True),
    "normalize": one_of("l2", "none"),
    "bias": FLAG,
    "threshold": or_text(AUTO, number("a number from -1e12 to 1e12", -HUGE, HUGE)),
    "objective": one_of_or_none(*OBJECTIVES),
    "target": one_of_or_none(*TARGETS[1:]),
    "target_value": number("a number from 1e-6 to 1e9, or null", 1e-6, 1e9, or_none=True),
    "max_features": whole(1, 1 << 31),
    "keep_predictions": FLAG,
    "featurizer": Rule(
        f"a version of the featurizer: {' or '.join(map(str, FEATURIZERS))}",
        lambda value: type(value) is int and value in FEATURIZERS,
    ),
    "keep_inputs": one_of(*KEPT_INPUTS),
    "numbers": one_of(*NUMBERS),
    "review_uncertain": number("a number from 0 to 1", 0.0, 1.0),
    "review_flagged": number("a number from 0 to 1", 0.0, 1.0),
    "review_random": zero_or(number("a number from 0.000001 to 1", 1e-6, 1.0)),
    "review_band": number("a number from 0 to 1", 0.0, 1.0),
    "reviews_per_day": number("a number from 0.001 to 1e9, or null for no budget", 1e-3, 1e9, or_none=True),
}
