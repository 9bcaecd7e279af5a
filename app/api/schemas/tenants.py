"""Bodies and answers of /tenants."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WrapValidator, model_validator

from app.api.schemas.names import (
    Flag,
    Number,
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
from app.api.schemas.review.honest import HonestResponse, TargetResponse
from app.api.schemas.review.queue import ReviewStatusResponse
from app.learning.config import DEFAULTS, Value
from app.learning.errors import BadSetting, short_repr
from app.learning.honest.curve import target_of
from app.learning.honest.figures import figures
from app.learning.parts.confusion import Confusion
from app.learning.state import TenantState
from app.learning.summary import summarise
from kernels.evaluation.curve import TARGETS
from kernels.registry import ALGORITHMS

Rate = float | None  # null until it is defined


ALWAYS = optional("Every algorithm has it.")


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

    algorithm: Annotated[Literal[tuple(ALGORITHMS)], WrapValidator(as_sent)] = ALWAYS  # type: ignore[valid-type]
    eta: Real = optional("Learning rate.")
    r: Real = optional("Regularisation of second-order algorithms.")
    delta: Real = optional("Initial value of adaptive denominators.")
    lambda_: Real = Field(  # type: ignore[assignment]  # None only while it is absent
        default=None, alias="lambda", description="Sparsity.", json_schema_extra=ALWAYS.json_schema_extra
    )
    lambda_schedule: Text = optional("How lambda changes over time.")
    target_sparsity: RealOrNull = optional("Find lambda such that this share of weights is zero.")
    costs: Text = optional("`given`, or `auto`: from the class counts.")
    cost_positive: Real = optional("Cost of a missed anomaly.")
    cost_negative: Real = optional("Cost of a false alarm.")
    mu_positive: Real = optional("Weight of sensitivity against specificity.")
    denominator: Text = optional("`shared` or `coordinate`.")
    threshold_on: Text = optional("`u` or `theta`.")
    forgetting: Real = optional("Share of the past that each example takes away.")
    truncate_every: Whole = optional("Examples between two truncations.")
    truncate_below: RealOrNull = optional("Weights below it are truncated.")
    normalize: Text = ALWAYS
    bias: Flag = ALWAYS
    threshold: RealOrText = optional("A number, or `auto`: learnt from the labels. Every algorithm has it.")
    objective: TextOrNull = optional(
        "What a threshold of `auto` is best for: `balanced` accuracy, `error` or `cost`. With an objective, answers "
        "have a probability. Every algorithm has it."
    )
    target: Annotated[Target | None, BeforeValidator(_one_target)] = optional(
        "What the threshold follows, instead of an objective: exactly one of `false_positive_rate`, `sensitivity`, "
        "`precision` and `reviews_per_day`. It makes the threshold `auto`; a number as the threshold ends it, and so "
        "does null. Every algorithm has it."
    )
    max_features: Whole = ALWAYS
    keep_predictions: Flag = ALWAYS
    keep_inputs: Text = optional(
        "Which raw inputs (URLs, e-mails, texts) are kept beside their predictions, compressed: `none`, those that are "
        "to be `review`ed, or `all`. Every algorithm has it."
    )
    featurizer: Whole = ALWAYS
    numbers: Text = ALWAYS
    review_uncertain: Real = optional("Share of the uncertain predictions that is to be reviewed.")
    review_flagged: Real = optional("Share of the alarms that is to be reviewed.")
    review_random: Real = optional("Share of all predictions that is to be reviewed; 0: no review policy.")
    review_band: Real = optional("Share of all scores that count as uncertain.")
    reviews_per_day: RealOrNull = optional("How many predictions are to be reviewed in a day; null: no budget.")

    @model_validator(mode="before")
    @classmethod
    def check_names(cls, given: Any) -> Any:  # noqa: ANN401 - any JSON
        """Refuse an unknown setting as the learning core does."""
        for name in given if isinstance(given, dict) else ():
            if name not in DEFAULTS or name == "target_value":
                known = sorted(DEFAULTS.keys() - {"target_value"})
                raise BadSetting(f"setting {name!r} does not exist; there are {', '.join(known)}")
        return given

    def changes(self) -> dict[str, Value]:
        """Return the settings that were sent, by name."""
        fields = type(self).model_fields
        given = {fields[name].alias or name: getattr(self, name) for name in fields if name in self.model_fields_set}
        if isinstance(target := given.get("target"), Target):
            given |= target.settings()
        return given


class CountsResponse(ResponseModel):
    """How many labels were learnt."""

    examples: int
    positives: int
    negatives: int


class RatesResponse(ResponseModel):
    """How good verdicts were; null until it is defined."""

    examples: int
    balanced_accuracy: Rate
    sensitivity: Rate
    specificity: Rate

    @classmethod
    def of(cls, counts: Confusion) -> "RatesResponse":
        """Return the rates of some counts."""
        return cls(
            examples=int(counts.examples),
            balanced_accuracy=counts.balanced_accuracy,
            sensitivity=counts.sensitivity,
            specificity=counts.specificity,
        )


class ClassDriftResponse(ResponseModel):
    """Changes of one class's error rate. `labels` and `error` are those since about the last change.

    `last_worse_at` is the number of labels, of both classes, at which the last change for the worse was found.
    """

    worse: int
    better: int
    labels: int
    error: Rate
    last_worse_at: int | None


class DriftResponse(ResponseModel):
    """Whether errors become more or less frequent: missed anomalies, and false alarms."""

    anomaly: ClassDriftResponse
    normal: ClassDriftResponse


class HealthResponse(ResponseModel):
    """`learning`: too few labels to tell; `good`; `poor`: no better than chance, with what to try."""

    status: Literal["learning", "good", "poor"]
    detail: str
    suggestions: list[str]


class TenantResponse(ResponseModel):
    """A tenant's configuration and state. `recent` is over the last labels, `served` over verdicts as answered.

    `honest` is about verdicts as answered as well, as if every item had been labelled.
    """

    tenant: str
    version: int
    algorithm: str
    config: dict[str, int | float | str | bool | None]
    threshold: float
    health: HealthResponse
    counts: CountsResponse
    balanced_accuracy: Rate
    sensitivity: Rate
    specificity: Rate
    recent: RatesResponse
    served: RatesResponse
    honest: HonestResponse
    target: TargetResponse | None
    drift: DriftResponse
    features: int
    nonzero_weights: int
    sparsity: Rate
    dropped_features: int
    memory_bytes: int
    digest: str
    rebuilding: Annotated[Rate, Field(description="How much of a retraction is done; null: none is in progress.")]
    review: Annotated[
        ReviewStatusResponse | None, Field(description="The review queue; null while the store does not answer.")
    ] = None

    @classmethod
    def of(cls, name: str, state: TenantState, rebuilding: float | None = None) -> "TenantResponse":
        """Return a state as the API shows it; it reads every row of the model."""
        found = summarise(state)
        return cls(
            tenant=name,
            rebuilding=rebuilding,
            counts=CountsResponse(**{each: found.pop(each) for each in CountsResponse.model_fields}),
            recent=RatesResponse.of(state.prequential.recent),
            served=RatesResponse.of(state.prequential.served),
            honest=HonestResponse.model_validate(figures(state.prequential.honest)),
            target=None if (target := target_of(state)) is None else TargetResponse.model_validate(target),
            drift=DriftResponse.model_validate(state.drift),
            health=HealthResponse.model_validate(found.pop("health")),
            **found,
        )


class TenantListItem(ResponseModel):
    """A tenant in the list; `loaded`: this worker has it in memory."""

    tenant: str
    version: int
    loaded: bool


class TenantListResponse(ResponseModel):
    """A page of the list. `next` is the `after` of the next page."""

    tenants: list[TenantListItem]
    next: str | None


class WeightResponse(ResponseModel):
    """A feature's weight; `evidence` is how much the model has seen of the feature."""

    feature: str
    text: Annotated[str, Field(description="What the feature means, in words.")]
    weight: Number
    evidence: Number


class WeightsResponse(ResponseModel):
    """The largest weights by size."""

    tenant: str
    version: int
    weights: list[WeightResponse]


class SnapshotResponse(ResponseModel):
    """A snapshot in the store; of its chunks, `written` were new."""

    tenant: str
    version: int
    digest: str
    chunks: int
    written: int
    bytes: int


class DeletedResponse(ResponseModel):
    """A deleted tenant: when (milliseconds since 1970), and until when it can be restored."""

    id: str
    version: int
    at: int
    until: int


class DeletedListResponse(ResponseModel):
    """The deleted tenants of a name that can be restored, the newest first."""

    tenant: str
    deleted: list[DeletedResponse]
