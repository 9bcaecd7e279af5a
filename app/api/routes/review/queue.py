"""The routes of the review queue: lease items, skip them, pass them on, give them back."""

import asyncio
import time
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import BeforeValidator

from app.api import examples, problems
from app.api.dependencies import Caller, Context, OwnTenant, Service, Tenants, needs
from app.api.documentation import WITH_TENANT, example, json_body, refusals
from app.api.json_route import ApiRoute
from app.api.parameters import KnownQuery, whole_number
from app.api.responses import NO_STORE
from app.api.routes.predictions import Explain, PredictionId, shown_prediction
from app.api.routes.tenants import TenantPath
from app.api.schemas.names import ID_PATTERN
from app.api.schemas.predictions import PredictionResponse
from app.api.schemas.review.queue import (
    MAX_ITEMS,
    MAX_LEASE_SECONDS,
    MODERATOR_DESCRIPTION,
    ReviewActionRequest,
    ReviewActionResponse,
    ReviewItemResponse,
    ReviewResponse,
)
from app.learning.review import REASONS
from app.review.queue import Leases, Reviewer
from app.storage.review.queue import QueueCounts, QueuedItem
from app.tenants.errors import PredictionExpired

router = APIRouter(route_class=ApiRoute, tags=["review"], dependencies=[KnownQuery])

ItemCount = Annotated[
    int,
    BeforeValidator(lambda text: whole_number("limit", str(text), 1, MAX_ITEMS)),
    Query(ge=1, le=MAX_ITEMS, description="How many items."),
]
LeaseSeconds = Annotated[
    int | None,
    BeforeValidator(
        lambda text: text if text is None else whole_number("lease_seconds", str(text), 1, MAX_LEASE_SECONDS)
    ),
    Query(ge=1, le=MAX_LEASE_SECONDS, description="By default SLUICE_REVIEW_LEASE_SECONDS."),
]
Moderator = Annotated[str | None, Query(pattern=ID_PATTERN, description=MODERATOR_DESCRIPTION)]


@router.get(
    "/tenants/{tenant}/review",
    summary="Lease what a person should look at",
    description="The most valuable items of the review queue: the highest expected cost of a wrong verdict first, then "
    "the random ones, the oldest first. Nobody else gets them until the lease ends. A label by `prediction_id` settles "
    "an item for good. An item that this moderator has skipped, or was unsure about, is not shown again. HEAD leases "
    "nothing.",
    dependencies=[needs("feedback"), OwnTenant],
    response_description="The leased items; none if nothing waits for this person.",
    responses=example(examples.REVIEW)
    | refusals(*WITH_TENANT, problems.NOT_THIS_MODERATOR, problems.TOO_MANY_LEASES, problems.LOG_REPLACED),
)
async def lease_review_items(  # noqa: PLR0913, PLR0917 - what FastAPI gives
    tenant: TenantPath,
    tenants: Tenants,
    service: Service,
    caller: Caller,
    context: Context,
    response: Response,
    limit: ItemCount = 1,
    lease_seconds: LeaseSeconds = None,
    moderator: Moderator = None,
    explain: Explain = 10,
) -> ReviewResponse:
    """Lease items, and show them as GET /predictions/{id} does."""
    response.headers["cache-control"] = NO_STORE
    held = tenants.held(tenant) or await tenants.hold(tenant, create=False)
    reviewer = Reviewer.of(caller, moderator)
    if context.is_head:
        changes = (await service.review.status(tenant) or QueueCounts()).changes
        return ReviewResponse(tenant=tenant, waiting=changes.waiting, leased=changes.leased, items=[])
    leases = await service.review.lease(held, reviewer, limit, lease_seconds)
    shown = await asyncio.gather(
        *(
            shown_prediction(service, tenants, held, each.prediction_id, explain, is_queued=True)
            for each in leases.items
        ),
        return_exceptions=True,
    )
    items = []
    for item, prediction in zip(leases.items, shown, strict=True):
        if isinstance(prediction, PredictionResponse):
            items.append(_item(leases, item, prediction))
        elif not isinstance(prediction, PredictionExpired):  # expired just now; it leaves the queue by itself
            raise prediction
    return ReviewResponse(tenant=tenant, waiting=leases.waiting, leased=leases.leased, items=items)


@router.post(
    "/tenants/{tenant}/review/{prediction_id}",
    summary="Skip a leased item, pass it on, or give it back",
    description="To label it, send its `prediction_id` to `/feedback`. A request that is sent again does no harm.",
    dependencies=[needs("feedback"), OwnTenant],
    response_description="What was done.",
    responses=example(examples.REVIEW_ACTION)
    | refusals(*WITH_TENANT, problems.NOT_THIS_MODERATOR, problems.LEASE_LOST),
    openapi_extra={"requestBody": {"content": json_body(examples.REVIEW_ACTIONS)}},
)
async def end_review_lease(  # noqa: PLR0913, PLR0917 - what FastAPI gives
    tenant: TenantPath,
    prediction_id: Annotated[PredictionId, Path()],
    wanted: ReviewActionRequest,
    tenants: Tenants,
    service: Service,
    caller: Caller,
) -> ReviewActionResponse:
    """End or renew the lease of an item."""
    if tenants.held(tenant) is None:
        await tenants.hold(tenant, create=False)
    changes, until = await service.review.end_lease(
        tenant,
        Reviewer.of(caller, wanted.moderator),
        wanted.action,
        prediction_id,
        wanted.lease,
        wanted.lease_seconds,
    )
    return ReviewActionResponse(
        tenant=tenant,
        prediction_id=prediction_id,
        action=wanted.action,
        lease_until=until,
        waiting=changes.waiting,
        leased=changes.leased,
    )


def _item(leases: Leases, item: QueuedItem, shown: PredictionResponse) -> ReviewItemResponse:
    return ReviewItemResponse(
        **{name: getattr(shown, name) for name in PredictionResponse.model_fields}
        | {"review_reason": REASONS[item.chosen.reason] or None, "chosen_with": item.chosen.probability},
        cost=item.chosen.cost,
        age_seconds=max(time.time() - item.at_milliseconds / 1000, 0.0),
        unsure=item.unsure,
        lease=leases.lease,
        lease_until=leases.until_milliseconds,
    )
