"""GET /overview: all tenants with their figures, the worst first."""

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BeforeValidator

from app.api import examples, problems
from app.api.dependencies import Caller, Service, needs
from app.api.documentation import example, refusals
from app.api.json_route import ApiRoute
from app.api.parameters import KnownQuery, whole_number
from app.api.responses import NO_STORE
from app.api.schemas.review.overview import OverviewResponse

router = APIRouter(route_class=ApiRoute, tags=["review"], dependencies=[KnownQuery])
MAX_PAGE = 200
MAX_OFFSET = 10_000_000

PageSize = Annotated[
    int,
    BeforeValidator(lambda text: whole_number("limit", str(text), 1, MAX_PAGE)),
    Query(ge=1, le=MAX_PAGE, description="Tenants on a page."),
]
Offset = Annotated[
    int,
    BeforeValidator(lambda text: whole_number("offset", str(text), 0, MAX_OFFSET)),
    Query(ge=0, le=MAX_OFFSET, description="How many tenants to leave out."),
]
Search = Annotated[str, Query(max_length=128, description="Only tenants whose names have this in them.")]


@router.get(
    "/overview",
    summary="Show all tenants, the worst first",
    description="First those that cannot be loaded or whose verdicts are poor; then by balanced accuracy, the honest "
    "one if it is known; then the longest review queues. Only tenants in this worker's memory have figures, and some "
    "more are loaded for each page; the others follow by name.",
    dependencies=[needs("review")],
    response_description="A page of tenants.",
    responses=example(examples.OVERVIEW) | refusals(problems.BAD_INPUT, problems.STORE_UNAVAILABLE),
)
async def show_overview(  # noqa: PLR0913, PLR0917 - query parameters
    service: Service, caller: Caller, response: Response, limit: PageSize = 50, offset: Offset = 0, search: Search = ""
) -> OverviewResponse:
    """Show the tenants that the caller may see."""
    response.headers["cache-control"] = NO_STORE
    covers = caller.covers if caller is not None else _everything
    return OverviewResponse.of(await service.overview.page(covers, search, offset, limit), offset + limit)


def _everything(_: str) -> bool:
    return True
