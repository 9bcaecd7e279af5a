"""Bodies and answers of /tenants/{tenant}/review."""

from typing import Annotated, Literal

from pydantic import Field

from app.api.schemas.names import Id, RequestModel, ResponseModel
from app.api.schemas.predictions import PredictionResponse
from app.storage.review.queue import QueueCounts

MAX_ITEMS = 100
MAX_LEASE_SECONDS = 86_400
MODERATOR_DESCRIPTION = (
    "Who takes part. By default the name that the key carries, else the key; another name than that of the key is "
    "refused."
)
LeaseSeconds = Annotated[int, Field(ge=1, le=MAX_LEASE_SECONDS)]


class ReviewItemResponse(PredictionResponse):
    """A prediction to look at. `lease_until` is in milliseconds since 1970; `labels` is empty."""

    cost: Annotated[float, Field(description="The expected cost of the verdict being wrong.")]
    age_seconds: float
    unsure: Annotated[int, Field(description="How many people were unsure about it.")]
    lease: Annotated[str, Field(description="For skip, unsure, release and renew.")]
    lease_until: int


class ReviewResponse(ResponseModel):
    """Leased items, the most valuable first; how many wait and how many are leased, these included."""

    tenant: str
    waiting: int
    leased: int
    items: list[ReviewItemResponse]


class ReviewActionRequest(RequestModel):
    """What to do with a leased item. To label it, send its prediction_id to /feedback."""

    action: Annotated[
        Literal["skip", "unsure", "release", "renew"],
        Field(
            description="`skip`: do not show it to this person again. `unsure`: the same, and it counts as unsure. "
            "`release`: back into the queue. `renew`: the lease begins again."
        ),
    ]
    lease: Annotated[Id | None, Field(description="The lease; by default that of this moderator.")] = None
    lease_seconds: Annotated[LeaseSeconds | None, Field(description="Of a renewed lease.")] = None
    moderator: Annotated[Id | None, Field(description=MODERATOR_DESCRIPTION)] = None


class ReviewActionResponse(ResponseModel):
    """What was done, and the queue afterwards."""

    tenant: str
    prediction_id: str
    action: str
    lease_until: Annotated[int | None, Field(description="Of a renewed lease.")]
    waiting: int
    leased: int


class ReviewStatusResponse(ResponseModel):
    """The review queue of a tenant: items that wait and that are leased, and both together by reason."""

    waiting: int
    leased: int
    oldest_age_seconds: Annotated[float | None, Field(description="Since the prediction; null: there is no item.")]
    by_reason: dict[str, int]

    @classmethod
    def of(cls, counts: QueueCounts) -> "ReviewStatusResponse":
        """Return what a queue holds, as the API shows it."""
        return cls(
            waiting=counts.changes.waiting,
            leased=counts.changes.leased,
            oldest_age_seconds=counts.oldest_age_seconds,
            by_reason=counts.reasons,
        )
