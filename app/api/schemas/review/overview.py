"""Answers of /overview."""

from typing import Annotated, Literal

from pydantic import Field

from app.api.schemas.names import ResponseModel
from app.api.schemas.review.honest import RateResponse
from app.api.schemas.tenants import RatesResponse
from app.review.overview import OverviewPage, TenantLine


class WaitingResponse(ResponseModel):
    """The review queue; the age is that of the oldest prediction in it."""

    waiting: int
    leased: int
    oldest_age_seconds: float | None


class TenantLineResponse(ResponseModel):
    """A tenant with its figures; they are null if it is not in this worker's memory."""

    tenant: str
    loaded: bool
    damaged: Annotated[bool, Field(description="Whether it cannot be loaded: GET /tenants/{tenant} says why.")]
    version: int | None
    algorithm: str | None
    health: Literal["learning", "good", "poor"] | None
    honest: Annotated[RateResponse | None, Field(description="Balanced accuracy as if every item had been labelled.")]
    recent: Annotated[RatesResponse | None, Field(description="Over the last 1,000 labels.")]
    labels: int | None
    events_last_day: Annotated[
        int | None, Field(description="Events of the log in the last 24 hours: labels, and the few others.")
    ]
    queue: WaitingResponse | None
    rebuilding: float | None

    @classmethod
    def of(cls, line: TenantLine) -> "TenantLineResponse":
        """Return a tenant as the API shows it."""
        queue = None
        if line.queue is not None:
            changes = line.queue.changes
            queue = WaitingResponse(
                waiting=changes.waiting, leased=changes.leased, oldest_age_seconds=line.queue.oldest_age_seconds
            )
        return cls(
            tenant=line.tenant,
            loaded=line.is_loaded,
            damaged=line.is_damaged,
            version=line.version,
            algorithm=line.algorithm,
            health=line.health,
            honest=None if line.honest is None else RateResponse.model_validate(line.honest),
            recent=None if line.recent is None else RatesResponse.of(line.recent),
            labels=line.labels,
            events_last_day=line.events_last_day,
            queue=queue,
            rebuilding=line.rebuilding,
        )


class OverviewResponse(ResponseModel):
    """A page of tenants, the worst first. `total` fit the search; `loaded` of them have figures and are ranked."""

    tenants: list[TenantLineResponse]
    total: int
    loaded: int
    next: Annotated[int | None, Field(description="The `offset` of the next page.")]

    @classmethod
    def of(cls, page: OverviewPage, end: int) -> "OverviewResponse":
        """Return a page that ends before a place."""
        lines = [TenantLineResponse.of(line) for line in page.lines]
        return cls(tenants=lines, total=page.total, loaded=page.loaded, next=end if end < page.total else None)
