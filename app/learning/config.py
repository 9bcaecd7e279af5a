"""A tenant's configuration: the algorithm and its options, checked, with every value in force shown."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.learning.errors import BadSetting, shown
from kernels.arrays import Floats
from kernels.learner import options as place
from kernels.registry import ALGORITHMS, Algorithm, load

Value = float | str | bool | None

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
    "max_features": 4_194_304,
    "keep_predictions": True,
    "featurizer": 1,
}
ALWAYS = frozenset({"algorithm", "normalize", "bias", "threshold", "max_features", "keep_predictions", "featurizer"})
# What only a service has a use for: the command line does not offer it.
SERVICE_ONLY = frozenset({"keep_predictions", "featurizer"})
# The versions of what turns raw inputs into features. A tenant that was never given one has the first, for ever.
FEATURIZERS = (1,)
# Settings that came later. They are told only where they differ: what was kept and hashed before they came stays valid.
LATER = frozenset({"featurizer"})
NUMBERED = ("index",)  # the state of algorithms with a full matrix: a feature's number in it
FULL_AT_MOST = 16_384  # features of those: a matrix of 2 GiB
WHOLE = frozenset({"truncate_every", "max_features", "featurizer"})
COSTS = frozenset({"cost_positive", "cost_negative"})
WITH_COSTS = COSTS | {"costs", "mu_positive"}


@dataclass(frozen=True, slots=True)
class Config:
    """The values in force, by their names in the contract; only those that the algorithm knows."""

    values: Mapping[str, Value]

    @property
    def algorithm(self) -> Algorithm:
        """The kernels to run."""
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
    def threshold(self) -> float:
        """Scores above it are anomalies."""
        return float(self.values["threshold"] or 0.0)

    @property
    def featurizer(self) -> int:
        """The version of what turns raw inputs into features."""
        version = self.values["featurizer"]
        assert isinstance(version, int)
        return version

    @property
    def told(self) -> dict[str, Value]:
        """The values as they are kept and hashed."""
        return {name: value for name, value in self.values.items() if name not in LATER or value != DEFAULTS[name]}

    def changed(self, changes: Mapping[str, Value]) -> "Config":
        """Return this configuration with some values replaced; another algorithm starts from its own defaults."""
        if changes.get("algorithm", self.values["algorithm"]) != self.values["algorithm"]:
            return config_of(self._common() | dict(changes))
        gone = COSTS if changes.get("costs") == "auto" else frozenset()
        kept = {name: value for name, value in self.values.items() if name not in gone}
        return config_of(kept | _implied(changes) | dict(changes))

    def _common(self) -> dict[str, Value]:
        """What another algorithm takes over: what all have, and a limit on features if one was set."""
        own = DEFAULTS | dict(self.algorithm.defaults)
        return {
            name: self.values[name]
            for name in ALWAYS - {"algorithm"}
            if name != "max_features" or self.values[name] != own[name]
        }

    def settings(self) -> Floats:
        """The same values as kernels read them."""
        known = DEFAULTS | dict(self.values)
        if "costs" not in self.values:
            known |= {"costs": "given", "cost_positive": 1.0, "cost_negative": 1.0}
        array = np.zeros(place.SIZE)
        for index, value in _encoded(known).items():
            array[index] = value
        return array


def config_of(given: Mapping[str, Value]) -> Config:
    """Check what was given, fill in the algorithm's defaults, and refuse what it has no use for."""
    name = given.get("algorithm", DEFAULTS["algorithm"])
    if not isinstance(name, str) or name not in ALGORITHMS:
        raise BadSetting(f"algorithm {name!r} is unknown; there are {', '.join(ALGORITHMS)}")
    algorithm = load(str(name))
    known = ALWAYS | algorithm.options | (WITH_COSTS if "costs" in algorithm.options else frozenset())
    _refuse_unknown(given, known, str(name))
    if given.get("target_sparsity") is not None and given.get("lambda"):
        raise BadSetting("target_sparsity finds lambda by itself: set one of them, not both")
    values = {key: value for key, value in (DEFAULTS | dict(algorithm.defaults)).items() if key in known}
    if COSTS & given.keys():
        values["costs"] = "given"
    values |= {key: _checked(key, value) for key, value in given.items()}
    if values.get("costs") == "auto":
        if COSTS & given.keys():
            raise BadSetting("costs are auto, so a given cost would be ignored: set costs to 'given', or no cost")
        values = {key: value for key, value in values.items() if key not in COSTS}
    if algorithm.state == NUMBERED and values["max_features"] > FULL_AT_MOST:  # type: ignore[operator]
        raise BadSetting(f"max_features is {values['max_features']:,}; {name} keeps a matrix: at most {FULL_AT_MOST:,}")
    return Config(values)


def _refuse_unknown(given: Mapping[str, Value], known: frozenset[str], algorithm: str) -> None:
    for name in given:
        if name not in DEFAULTS:
            raise BadSetting(f"setting {name!r} does not exist; {algorithm} has {', '.join(sorted(known))}")
        if name not in known:
            raise BadSetting(f"{algorithm} has no use for {name!r}; it has {', '.join(sorted(known))}")


def _implied(changes: Mapping[str, Value]) -> dict[str, Value]:
    """What a change brings with it: a cost is set to be used; lambda and target sparsity stand for each other."""
    implied: dict[str, Value] = {"costs": "given"} if COSTS & changes.keys() else {}
    if changes.get("target_sparsity") is not None:
        implied["lambda"] = 0.0
    elif "lambda" in changes:
        implied["target_sparsity"] = None
    return implied


def _checked(name: str, value: Value) -> Value:
    what, fits = RULES[name]
    if not fits(value):
        raise BadSetting(f"{name} is {shown(value)}; it must be {what}")
    return value if value is None or isinstance(value, str | bool) or name in WHOLE else float(value)


def _encoded(known: Mapping[str, Any]) -> dict[int, float]:
    below = known["truncate_below"]
    return {
        place.ETA: known["eta"],
        place.R: known["r"],
        place.DELTA: known["delta"],
        place.LAMBDA0: known["lambda"],
        place.SCHEDULE: place.SCHEDULES.index(known["lambda_schedule"]),
        place.TARGET: known["target_sparsity"] or 0.0,
        place.COST_POSITIVE: known["cost_positive"],
        place.COST_NEGATIVE: known["cost_negative"],
        place.AUTO_COSTS: known["costs"] == "auto",
        place.ODDS: known["mu_positive"] / (1.0 - known["mu_positive"]),
        place.COORDINATE: known["denominator"] == "coordinate",
        place.ON_THETA: known["threshold_on"] == "theta",
        place.KEEP: 1.0 - known["forgetting"],
        place.TRUNCATE_EVERY: known["truncate_every"],
        place.TRUNCATE_BELOW: math.inf if below is None else below,
        place.LIMIT: known["max_features"],
    }


Rule = tuple[str, Callable[[Any], bool]]


def _number(what: str, low: float, high: float, *, or_none: bool = False) -> Rule:
    """A finite number above `low` and up to `high`; the ends belong to the range where `what` says so."""

    def fits(value: object) -> bool:
        if value is None:
            return or_none
        return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high

    return what, fits


def _whole(low: int, high: int) -> Rule:
    return f"a whole number from {low:,} to {high:,}", lambda value: type(value) is int and low <= value <= high


def _one_of(*choices: str) -> Rule:
    spelled = " or ".join(map(repr, choices))
    return spelled, lambda value: isinstance(value, str) and value in choices


TINY = 1e-12
HUGE = 1e12
RULES: dict[str, Rule] = {
    "algorithm": _one_of(*ALGORITHMS),
    "eta": _number("a number from 1e-12 to 1e12", TINY, HUGE),
    "r": _number("a number from 1e-12 to 1e12", TINY, HUGE),
    "delta": _number("a number from 1e-12 to 1e12", TINY, HUGE),
    "lambda": _number("a number from 0 to 1e12", 0.0, HUGE),
    "lambda_schedule": _one_of(*place.SCHEDULES),
    "target_sparsity": _number("a number from 0.001 to 0.999999, or null", 1e-3, 0.999999, or_none=True),
    "costs": _one_of("given", "auto"),
    "cost_positive": _number("a number from 1e-12 to 1e12", TINY, HUGE),
    "cost_negative": _number("a number from 1e-12 to 1e12", TINY, HUGE),
    "mu_positive": _number("a number from 0.001 to 0.999", 1e-3, 0.999),
    "denominator": _one_of("shared", "coordinate"),
    "threshold_on": _one_of("u", "theta"),
    "forgetting": _number("a number from 0 to 0.5", 0.0, 0.5),
    "truncate_every": _whole(1, 1_000_000_000),
    "truncate_below": _number("a number from 0 to 1e12, or null for no bound", 0.0, HUGE, or_none=True),
    "normalize": _one_of("l2", "none"),
    "bias": ("true or false", lambda value: isinstance(value, bool)),
    "threshold": _number("a number from -1e12 to 1e12", -HUGE, HUGE),
    "max_features": _whole(1, 1 << 31),
    "keep_predictions": ("true or false", lambda value: isinstance(value, bool)),
    "featurizer": (
        f"a version of the featurizers: {' or '.join(map(str, FEATURIZERS))}",
        lambda value: type(value) is int and value in FEATURIZERS,
    ),
}
