"""The routes under /tenants: configuration and state."""

# ruff: noqa: FAST003 - endpoints take the request alone, and find the path's parameters in it

import asyncio

import msgspec
from fastapi import APIRouter
from starlette.requests import Request

from app.api import operations
from app.api.answers import Answer, NoContent, encode
from app.api.bodies import decoded, read_json
from app.api.inputs import tenant_name
from app.api.queries import query, whole_number
from app.api.serving import DirectRoute, serving
from app.api.wire import (
    Counts,
    DriftOut,
    ListedOut,
    Rates,
    TenantOut,
    TenantsOut,
    WeightOut,
    WeightsOut,
    settings_decoder,
)
from app.learning.prequential import Confusion
from app.learning.state import TenantState
from app.learning.summary import summarise, top_weights
from app.tenants.tenant import Tenant

router = APIRouter(route_class=DirectRoute)
PAGE, LONGEST_PAGE = 100, 1000
TOP, MOST_WEIGHTS = 50, 10_000


@router.get("/tenants", **operations.LIST_TENANTS)
async def list_tenants(request: Request) -> Answer:
    """All tenants, page by page."""
    given = query(request, "limit", "after")
    limit = whole_number(given, "limit", PAGE, 1, LONGEST_PAGE)
    after = tenant_name(given["after"]) if "after" in given else ""
    found = await serving(request).tenants.listed(after, limit + 1)  # one more, to know whether there is a next page
    page = [ListedOut(each.tenant, each.version, each.loaded) for each in found[:limit]]
    return Answer(encode(TenantsOut(page, page[-1].tenant if len(found) > limit else None)))


@router.put("/tenants/{tenant}", **operations.CONFIGURE_TENANT)
async def configure_tenant(request: Request) -> Answer:
    """Change settings, and make the tenant if there is none."""
    serve = serving(request)
    name = tenant_name(request.path_params["tenant"])
    body = await read_json(request, serve.limits.max_body_bytes)
    changes = decoded(settings_decoder, body) if body.strip() else {}
    return await shown(await serve.tenants.configure(name, changes))


@router.get("/tenants/{tenant}", **operations.SHOW_TENANT)
async def show_tenant(request: Request) -> Answer:
    """Configuration and state."""
    query(request)
    return await shown(await serving(request).existing(request))


@router.delete("/tenants/{tenant}", **operations.DELETE_TENANT)
async def delete_tenant(request: Request) -> NoContent:
    """Delete the tenant with its log."""
    query(request)
    await serving(request).tenants.delete(tenant_name(request.path_params["tenant"]))
    return NoContent()


@router.get("/tenants/{tenant}/weights", **operations.SHOW_WEIGHTS)
async def show_weights(request: Request) -> Answer:
    """The largest weights by name."""
    count = whole_number(query(request, "top"), "top", TOP, 1, MOST_WEIGHTS)
    tenant = await serving(request).existing(request)
    async with tenant.lock:
        version = tenant.state.version
        weights = await asyncio.to_thread(top_weights, tenant.state, count)
    return Answer(encode(WeightsOut(tenant.name, version, [WeightOut(**each) for each in weights])))


async def shown(tenant: Tenant) -> Answer:
    """Looking at every row of a large model takes long: off the event loop, while nothing is learnt."""
    async with tenant.lock:
        return Answer(encode(await asyncio.to_thread(tenant_out, tenant.name, tenant.state)))


def tenant_out(name: str, state: TenantState) -> TenantOut:
    """A state as the contract shows it."""
    found = summarise(state)
    counts = Counts(*(found.pop(each) for each in ("examples", "positives", "negatives")))
    for unshown in ("error", "balanced_accuracy_margin"):
        del found[unshown]
    prequential = state.prequential
    return TenantOut(
        tenant=name,
        counts=counts,
        recent=_rates(prequential.recent),
        served=_rates(prequential.served),
        drift=msgspec.convert(state.drift, DriftOut, from_attributes=True),
        **found,
    )


def _rates(counts: Confusion) -> Rates:
    return Rates(int(counts.examples), counts.balanced_accuracy, counts.sensitivity, counts.specificity)
