"""Bodies and answers of /tenants."""

from typing import Annotated, Literal

from pydantic import Field

from app.api.schemas.names import Number, ResponseModel
from app.api.schemas.review.honest import HonestResponse, TargetResponse
from app.api.schemas.review.queue import ReviewStatusResponse
from app.learning.honest.curve import target_of
from app.learning.honest.figures import figures
from app.learning.parts.confusion import Confusion
from app.learning.state import TenantState
from app.learning.summary import summarise

Rate = float | None  # null until it is defined


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
