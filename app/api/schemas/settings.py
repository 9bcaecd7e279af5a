"""Settings of tenants: as they are sent, and what there is to choose from."""

from functools import cache
from importlib import import_module
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WrapValidator, model_validator

from app.api.schemas.names import (
    Flag,
    Real,
    RealOrNull,
    RealOrText,
    RequestModel,
    ResponseModel,
    Text,
    TextOrNull,
    Whole,
    as_sent,
    optional,
)
from app.learning.config import DEFAULTS, RULES, Value, config_of, defaults_of
from app.learning.errors import BadSetting, short_repr
from app.learning.first_settings import settings_of_new_tenants
from kernels.evaluation.curve import TARGETS
from kernels.registry import ALGORITHMS

Values = dict[str, int | float | str | bool | None]
TARGET_VALUE = "target_value"  # in the configuration; clients send it with its target


def _one_target(given: object) -> object:
    """Refuse what is neither null nor one target with its value."""
    names = " or ".join(map(repr, TARGETS[1:]))
    if given is None or (isinstance(given, dict) and len(given) == 1 and set(given) <= set(TARGETS)):
        return given
    raise BadSetting(f"target is {short_repr(given)}; it must be null, or an object with one of {names} and its value")


class Target(RequestModel):
    """What the threshold follows: exactly one of these, with its value."""

    false_positive_rate: Real = optional("Share of normal items that are flagged.")
    sensitivity: Real = optional("Share of anomalies that are flagged.")
    precision: Real = optional("Share of flagged items that are anomalies.")
    reviews_per_day: Real = optional("Flagged items per day.")

    def settings(self) -> dict[str, Value]:
        """Return the settings that the learning core stores."""
        [name] = self.model_fields_set
        value = getattr(self, name)
        if value is None:
            raise BadSetting(f"target {name} is null; it must be a number")
        return {"target": name, "target_value": value}


class TenantSettings(RequestModel):
    """Settings to change. docs/algorithms.md says which of them an algorithm has, and their ranges."""

    algorithm: Annotated[Literal[tuple(ALGORITHMS)], WrapValidator(as_sent)] = optional(  # type: ignore[valid-type]
        "How the model learns from a label. Another algorithm starts a new model, with its own defaults."
    )
    eta: Real = optional("Learning rate: how far one label moves the weights.")
    r: Real = optional("Regularisation of second-order algorithms: the larger, the longer the steps stay large.")
    delta: Real = optional("Initial value of adaptive denominators: the larger, the shorter the first steps.")
    lambda_: Real = optional("Sparsity: the larger, the more weights are zero.", alias="lambda")
    lambda_schedule: Text = optional("How lambda changes over time.")
    target_sparsity: RealOrNull = optional("Find lambda such that this share of weights is zero. It replaces lambda.")
    costs: Text = optional("What errors cost while learning: `given`, or `auto`: from the class counts.")
    cost_positive: Real = optional("Cost of a missed anomaly. Setting it makes `costs` `given`.")
    cost_negative: Real = optional("Cost of a false alarm. Setting it makes `costs` `given`.")
    mu_positive: Real = optional("Weight of sensitivity against specificity if `costs` is `auto`; 0.5: the same.")
    denominator: Text = optional("Steps of second-order algorithms: `shared`, or for each `coordinate`.")
    threshold_on: Text = optional("What lambda cuts off: `u`, the weights, or `theta`, their sums before scaling.")
    forgetting: Real = optional("Share of the past that each example takes away; 0: nothing is forgotten.")
    truncate_every: Whole = optional("Examples between two truncations of small weights.")
    truncate_below: RealOrNull = optional("Only weights up to this size are truncated; null: all.")
    normalize: Text = optional("`l2`: every example is scaled to length 1; `none`: as it was sent.")
    bias: Flag = optional("Whether every example gets one more feature with the value 1.")
    threshold: RealOrText = optional("Scores above it are anomalies: a number, or `auto`: learnt from the labels.")
    objective: TextOrNull = optional(
        "What a threshold of `auto` is best for: `balanced` accuracy, `error` or `cost`. With an objective, answers "
        "have a probability."
    )
    target: Annotated[Target | None, BeforeValidator(_one_target)] = optional(
        "What the threshold follows, instead of an objective: exactly one of `false_positive_rate`, `sensitivity`, "
        "`precision` and `reviews_per_day`. It makes the threshold `auto`; a number as the threshold ends it, and so "
        "does null."
    )
    max_features: Whole = optional(
        "How many features the model knows at most; labels with more new ones teach nothing about these."
    )
    keep_predictions: Flag = optional(
        "Whether a prediction is kept until its label arrives, so that feedback can name it."
    )
    keep_inputs: Text = optional(
        "Which raw inputs (URLs, e-mails, texts) are kept beside their predictions, compressed: `none`, those that are "
        "to be `review`ed, or `all`."
    )
    featurizer: Whole = optional("Version of the features of URLs, e-mails and texts.")
    numbers: Text = optional(
        "How numbers that callers send become features: `raw`, or `encoded`, so that their scale does not matter."
    )
    review_uncertain: Real = optional(
        "Share of the uncertain predictions, those in the band around the threshold, that is to be reviewed."
    )
    review_flagged: Real = optional("Share of the alarms that is to be reviewed.")
    review_random: Real = optional(
        "Share of all predictions that is to be reviewed, whatever their score. Honest figures rest on it. "
        "0: no review policy."
    )
    review_band: Real = optional("Share of all scores that count as uncertain.")
    reviews_per_day: RealOrNull = optional(
        "How many predictions are to be reviewed in a day, at most; null: no budget."
    )

    @model_validator(mode="before")
    @classmethod
    def check_names(cls, given: Any) -> Any:  # noqa: ANN401 - any JSON
        """Refuse an unknown setting as the learning core does."""
        for name in given if isinstance(given, dict) else ():
            if name not in DEFAULTS or name == TARGET_VALUE:
                known = sorted(DEFAULTS.keys() - {TARGET_VALUE})
                raise BadSetting(f"setting {name!r} does not exist; there are {', '.join(known)}")
        return given

    def changes(self) -> dict[str, Value]:
        """Return the settings that were sent, by name."""
        fields = type(self).model_fields
        given = {fields[name].alias or name: getattr(self, name) for name in fields if name in self.model_fields_set}
        if isinstance(target := given.get("target"), Target):
            given |= target.settings()
        return given


class SettingResponse(ResponseModel):
    """A setting: its meaning, which values are allowed, and the texts among them."""

    name: str
    meaning: str
    allowed: str
    choices: list[str]


class AlgorithmResponse(ResponseModel):
    """An algorithm."""

    summary: str
    defaults: Annotated[Values, Field(description="The settings that it has, each with its default.")]


class SettingsResponse(ResponseModel):
    """All settings in order, the algorithms by name, and every value of a new tenant."""

    settings: list[SettingResponse]
    algorithms: dict[str, AlgorithmResponse]
    new_tenants: Values


@cache
def all_settings() -> SettingsResponse:
    """Return what there is to set. It loads all algorithms."""
    fields = TenantSettings.model_fields
    meanings = {field.alias or name: field.description or "" for name, field in fields.items()}
    return SettingsResponse(
        settings=[
            SettingResponse(name=name, meaning=meaning, allowed=RULES[name].expected, choices=list(RULES[name].choices))
            for name, meaning in meanings.items()
        ],
        algorithms={
            name: AlgorithmResponse(summary=_summary(name), defaults=_without_value(defaults_of(name)))
            for name in ALGORITHMS
        },
        new_tenants=_without_value(dict(config_of(settings_of_new_tenants()).values)),
    )


def _without_value(values: dict[str, Value]) -> dict[str, Value]:
    return {name: value for name, value in values.items() if name != TARGET_VALUE}


def _summary(algorithm: str) -> str:
    """Return the first line of the algorithm's file."""
    module = import_module(f"kernels.algorithms.{ALGORITHMS[algorithm].partition('.')[0]}")
    return str(module.__doc__).partition("\n")[0]
