"""The routes under /tenants: configuration and state."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BeforeValidator

from app.api import examples, problems
from app.api.backend import Backend
from app.api.dependencies import Audited, Service, Tenants, needs
from app.api.documentation import USING_TENANT, WITH_TENANT, example, json_body, refusals
from app.api.json_route import ApiRoute
from app.api.parameters import KnownQuery, flag_of, whole_number
from app.api.schemas.names import ID_PATTERN, TENANT_DESCRIPTION, TENANT_PATTERN
from app.api.schemas.review.honest import CurveResponse
from app.api.schemas.review.queue import ReviewStatusResponse
from app.api.schemas.settings import TenantSettings
from app.api.schemas.tenants import (
    DeletedListResponse,
    DeletedResponse,
    TenantListItem,
    TenantListResponse,
    TenantResponse,
    WeightResponse,
    WeightsResponse,
)
from app.features.reasons import wording_of
from app.learning.honest.curve import curve_of
from app.learning.summary import top_weights
from app.tenants.tenant import Tenant

router = APIRouter(route_class=ApiRoute, tags=["tenants"])
MAX_PAGE = 1000
NO_CHANGES = TenantSettings()
MAX_WEIGHTS = 10_000
MAX_POINTS = 161

TenantPath = Annotated[str, Path(pattern=TENANT_PATTERN, description=TENANT_DESCRIPTION, examples=["acme"])]
PageSize = Annotated[
    int,
    BeforeValidator(lambda text: whole_number("limit", str(text), 1, MAX_PAGE)),
    Query(ge=1, le=MAX_PAGE, description="Tenants on a page."),
]
After = Annotated[str | None, Query(pattern=TENANT_PATTERN, description="Begin after this name.")]
Top = Annotated[
    int,
    BeforeValidator(lambda text: whole_number("top", str(text), 1, MAX_WEIGHTS)),
    Query(ge=1, le=MAX_WEIGHTS, description="How many weights."),
]
Points = Annotated[
    int,
    BeforeValidator(lambda text: whole_number("points", str(text), 2, MAX_POINTS)),
    Query(ge=2, le=MAX_POINTS, description="How many thresholds, at most."),
]

Purge = Annotated[
    bool,
    flag_of("purge"),
    Query(description="Whether it must not be restored, nor any deleted tenant of this name."),
]
DeletedId = Annotated[str | None, Query(pattern=ID_PATTERN, description="Which one; by default the newest.")]


@router.get(
    "/tenants",
    summary="List tenants",
    description="By name, page by page: `next` of an answer is `after` of the next request.",
    dependencies=[needs("review"), KnownQuery],
    response_description="A page of tenants.",
    responses=example(examples.LISTED) | refusals(problems.BAD_INPUT, problems.STORE_UNAVAILABLE),
)
async def list_tenants(tenants: Tenants, limit: PageSize = 100, after: After = None) -> TenantListResponse:
    """List tenants, page by page."""
    found = await tenants.listed(after or "", limit + 1)  # one more, to know whether there is a next page
    page = [TenantListItem.model_validate(each) for each in found[:limit]]
    return TenantListResponse(tenants=page, next=page[-1].tenant if len(found) > limit else None)


@router.put(
    "/tenants/{tenant}",
    summary="Create or configure a tenant",
    description="Only the given settings change; without a body, the tenant is created with the defaults. A change is "
    "an event in the log. The answer has every value in force.",
    dependencies=[needs("admin"), Audited],
    response_description="The tenant.",
    responses=example(examples.SHOWN) | refusals(*USING_TENANT, problems.BAD_SETTING),
    openapi_extra={"requestBody": {"content": json_body({"settings": examples.SETTINGS})}},
)
async def configure_tenant(
    tenant: TenantPath, tenants: Tenants, service: Service, settings: TenantSettings = NO_CHANGES
) -> TenantResponse:
    """Change settings; create the tenant if it does not exist."""
    return await show(await tenants.configure(tenant, settings.changes()), service)


@router.get(
    "/tenants/{tenant}",
    summary="Show a tenant",
    description="Configuration and state. Two replicas at the same version have the same digest.",
    dependencies=[needs("review"), KnownQuery],
    response_description="The tenant.",
    responses=example(examples.SHOWN) | refusals(*WITH_TENANT),
)
async def show_tenant(tenant: TenantPath, tenants: Tenants, service: Service) -> TenantResponse:
    """Show configuration and state."""
    return await show(tenants.held(tenant) or await tenants.hold(tenant, create=False), service)


@router.delete(
    "/tenants/{tenant}",
    status_code=204,
    summary="Delete a tenant",
    description="Deletes its log, its snapshots and its kept predictions, everywhere. For some time "
    "(`SLUICE_DELETED_TENANT_SECONDS`) it can be restored, without the kept predictions.",
    dependencies=[needs("admin"), Audited, KnownQuery],
    response_description="The tenant is deleted.",
    responses=refusals(*WITH_TENANT),
)
async def delete_tenant(tenant: TenantPath, tenants: Tenants, *, purge: Purge = False) -> None:
    """Delete a tenant with its log."""
    await tenants.delete(tenant, purge=purge)


@router.get(
    "/deleted/{tenant}",
    summary="List deleted tenants of a name",
    description="Those that can be restored, the newest first.",
    dependencies=[needs("admin"), KnownQuery],
    response_description="The deleted tenants.",
    responses=example(examples.DELETED) | refusals(problems.BAD_INPUT, problems.STORE_UNAVAILABLE),
)
async def list_deleted(tenant: TenantPath, tenants: Tenants) -> DeletedListResponse:
    """List the deleted tenants of a name."""
    found = [
        DeletedResponse(
            id=each.incarnation, version=each.version, at=each.at_milliseconds, until=each.until_milliseconds
        )
        for each in await tenants.deleted(tenant)
    ]
    return DeletedListResponse(tenant=tenant, deleted=found)


@router.post(
    "/deleted/{tenant}/restore",
    summary="Restore a deleted tenant",
    description="The newest one of this name, or the one with this `id`: its model, its settings, its log.",
    dependencies=[needs("admin"), Audited, KnownQuery],
    response_description="The tenant.",
    responses=example(examples.SHOWN)
    | refusals(*USING_TENANT, problems.BAD_INPUT, problems.TENANT_EXISTS, problems.SNAPSHOT_BUSY),
)
async def restore_tenant(
    tenant: TenantPath,
    tenants: Tenants,
    service: Service,
    id: DeletedId = None,  # noqa: A002 - the name of the parameter
) -> TenantResponse:
    """Restore a deleted tenant."""
    return await show(await tenants.restore(tenant, id), service)


@router.get(
    "/tenants/{tenant}/weights",
    summary="Show the largest weights",
    description="By size, with the names of the features. `evidence` is how much the model has seen of a feature.",
    dependencies=[needs("review"), KnownQuery],
    response_description="The weights.",
    responses=example(examples.WEIGHTS) | refusals(*WITH_TENANT),
)
async def show_weights(tenant: TenantPath, tenants: Tenants, top: Top = 50) -> WeightsResponse:
    """Show the largest weights by name."""
    found = tenants.held(tenant) or await tenants.hold(tenant, create=False)
    async with found.lock:
        version = found.state.version
        weights = await asyncio.to_thread(top_weights, found.state, top)
    texts = await asyncio.to_thread(lambda: [wording_of(each["feature"]) for each in weights])
    shown = [WeightResponse(**each, text=text) for each, text in zip(weights, texts, strict=True)]
    return WeightsResponse(tenant=found.name, version=version, weights=shown)


@router.get(
    "/tenants/{tenant}/curve",
    summary="Show the rates at every threshold",
    description="Sensitivity, specificity, precision and the flagged share, each with a 95% interval, from the scores "
    "of labels. Those of items that the review policy chose are weighted, so the curve is that of all items.",
    dependencies=[needs("review"), KnownQuery],
    response_description="The curve.",
    responses=example(examples.CURVE) | refusals(*WITH_TENANT),
)
async def show_curve(tenant: TenantPath, tenants: Tenants, points: Points = 41) -> CurveResponse:
    """Show the curve."""
    found = tenants.held(tenant) or await tenants.hold(tenant, create=False)
    async with found.lock:
        version = found.state.version
        curve = await asyncio.to_thread(curve_of, found.state, points)
    return CurveResponse.of(found.name, version, curve)


async def show(tenant: Tenant, service: Backend) -> TenantResponse:
    """Summarise a tenant; a thread reads every row of the model, while nothing is learnt."""
    queue = await service.review.status(tenant.name)
    if progress := tenant.rebuilding:  # the state learns nothing until another one takes its place
        shown = await asyncio.to_thread(TenantResponse.of, tenant.name, tenant.state, progress.share)
    else:
        async with tenant.lock:
            shown = await asyncio.to_thread(TenantResponse.of, tenant.name, tenant.state)
    shown.review = ReviewStatusResponse.of(queue) if queue is not None else None
    return shown
