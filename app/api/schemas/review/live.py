"""The events of /tenants/{tenant}/events."""

from typing import Annotated

from pydantic import Field

from app.api.schemas.names import ResponseModel
from app.api.schemas.review.honest import HonestResponse, TargetResponse
from app.api.schemas.tenants import CountsResponse, DriftResponse, HealthResponse, RatesResponse
from app.review.live import LiveState


class LiveQueueResponse(ResponseModel):
    """The review queue: items that wait and that are leased, and both together by reason."""

    waiting: int
    leased: int
    oldest_at: Annotated[int | None, Field(description="The time of the oldest prediction; null: there is no item.")]
    by_reason: dict[str, int]


class LiveStateResponse(ResponseModel):
    """What may change at any moment, with the names that `GET /tenants/{tenant}` has for it."""

    tenant: str
    version: int
    threshold: float
    health: HealthResponse
    counts: CountsResponse
    recent: RatesResponse
    served: RatesResponse
    honest: HonestResponse
    target: TargetResponse | None
    drift: DriftResponse
    features: int
    rebuilding: float | None
    queue: LiveQueueResponse | None

    @classmethod
    def of(cls, tenant: str, state: LiveState) -> "LiveStateResponse":
        """Return a state as the API shows it."""
        queue, counts = state.queue, state.counts
        return cls(
            tenant=tenant,
            version=state.version,
            threshold=state.threshold,
            health=HealthResponse.model_validate(state.health),
            counts=CountsResponse(
                examples=int(counts.examples), positives=int(counts.positives), negatives=int(counts.negatives)
            ),
            recent=RatesResponse.of(state.recent),
            served=RatesResponse.of(state.served),
            honest=HonestResponse.model_validate(state.honest),
            target=None if state.target is None else TargetResponse.model_validate(state.target),
            drift=DriftResponse.model_validate(state.drift),
            features=state.features,
            rebuilding=state.rebuilding,
            queue=None
            if queue is None
            else LiveQueueResponse(
                waiting=queue.changes.waiting,
                leased=queue.changes.leased,
                oldest_at=state.oldest_at_milliseconds,
                by_reason=queue.reasons,
            ),
        )
