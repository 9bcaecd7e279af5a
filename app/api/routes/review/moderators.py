"""GET /tenants/{tenant}/moderators: how far people agree, and whose labels differ."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query

from app.api import examples
from app.api.dependencies import Tenants, needs
from app.api.documentation import WITH_TENANT, example, refusals
from app.api.json_route import ApiRoute
from app.api.parameters import KnownQuery, time_of
from app.api.routes.tenants import TenantPath
from app.api.schemas.review.moderators import ModeratorsResponse
from app.review.agreement import MOST_LABELS, SecondOpinion, agreement_of
from app.tenants.labels.stored_labels import LabelFilter, Retraction, StoredLabel

router = APIRouter(route_class=ApiRoute, tags=["review"], dependencies=[KnownQuery])


@router.get(
    "/tenants/{tenant}/moderators",
    summary="Show how far moderators agree",
    description="For each person: labels, agreement with the verdicts, what others replaced, what was taken back. For "
    "each two people: Cohen's kappa of the predictions that both judged, as a correction or as a blind second opinion. "
    "And whose labels differ significantly from those of all others. The newest "
    f"{MOST_LABELS:,} labels are read at most.",
    dependencies=[needs("review")],
    response_description="The figures; null with a reason where they cannot be known.",
    responses=example(examples.MODERATORS) | refusals(*WITH_TENANT),
)
async def show_moderators(
    tenant: TenantPath,
    tenants: Tenants,
    since: Annotated[int | None, time_of("since"), Query(description="From this time on, with its zone.")] = None,
    until: Annotated[int | None, time_of("until"), Query(description="Before this time, with its zone.")] = None,
) -> ModeratorsResponse:
    """Compare the labels of a tenant's moderators."""
    labels: list[tuple[StoredLabel, Retraction | None]] = []
    has_more = False
    async for found in await tenants.labels(tenant, LabelFilter(since=since, until=until)):
        if len(labels) == MOST_LABELS:
            has_more = True
            break
        labels.append(found)
    opinions: list[SecondOpinion] = []
    agreement = await asyncio.to_thread(agreement_of, labels, opinions)
    return ModeratorsResponse.of(tenant, agreement, has_more=has_more)
