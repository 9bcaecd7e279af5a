"""GET /tenants/{tenant}/timeline: labels and accuracy over time."""

import time
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BeforeValidator

from app.api import examples
from app.api.dependencies import OwnTenant, Tenants, needs
from app.api.documentation import WITH_TENANT, example, refusals
from app.api.errors import BadInput
from app.api.json_route import ApiRoute
from app.api.parameters import KnownQuery, time_of, whole_number
from app.api.responses import NO_STORE
from app.api.routes.tenants import TenantPath
from app.api.schemas.review.timeline import TimelineResponse

router = APIRouter(route_class=ApiRoute, tags=["review"], dependencies=[KnownQuery])
MOST_PERIODS = 400

Periods = Annotated[
    int,
    BeforeValidator(lambda text: whole_number("periods", str(text), 1, MOST_PERIODS)),
    Query(ge=1, le=MOST_PERIODS, description="How many periods, at most. Their width is a round one."),
]
Since = Annotated[
    int | None, time_of("since"), Query(description="From this time on, with its zone; by default the first label.")
]
Until = Annotated[int | None, time_of("until"), Query(description="Before this time, with its zone; by default now.")]


@router.get(
    "/tenants/{tenant}/timeline",
    summary="Show labels and accuracy over time",
    description="Periods of equal width with the labels of each class, the rates of the verdicts as answered, the "
    "honest rates with 95% intervals, and how long labels took; and when drift was found and settings were changed. "
    "It rests on the newest 50,000 labels of the log. Periods begin at round times (UTC).",
    dependencies=[needs("review"), OwnTenant],
    response_description="The periods.",
    responses=example(examples.TIMELINE) | refusals(*WITH_TENANT),
)
async def show_timeline(  # noqa: PLR0913, PLR0917 - query parameters
    tenant: TenantPath,
    tenants: Tenants,
    response: Response,
    periods: Periods = 60,
    since: Since = None,
    until: Until = None,
) -> TimelineResponse:
    """Show labels over time."""
    response.headers["cache-control"] = NO_STORE
    end = time.time_ns() // 1_000_000 + 1 if until is None else until
    if since is not None and since >= end:
        raise BadInput("since must be before until")
    return TimelineResponse.of(tenant, await tenants.timeline(tenant, since, end, periods))
