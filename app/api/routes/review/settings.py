"""GET /settings: what can be set."""

import asyncio

from fastapi import APIRouter

from app.api import examples
from app.api.dependencies import needs
from app.api.documentation import example, refusals
from app.api.json_route import ApiRoute
from app.api.parameters import KnownQuery
from app.api.schemas.settings import SettingsResponse, all_settings

router = APIRouter(route_class=ApiRoute, tags=["tenants"], dependencies=[KnownQuery])


@router.get(
    "/settings",
    summary="Show what can be set",
    description="Every setting of a tenant with its meaning and the values that are allowed, and for each algorithm "
    "those that it has, with their defaults. A tenant's own values are in GET /tenants/{tenant}.",
    dependencies=[needs("review")],
    response_description="The settings.",
    responses=example(examples.ALL_SETTINGS) | refusals(),
)
async def show_settings() -> SettingsResponse:
    """Show all settings."""
    return await asyncio.to_thread(all_settings)  # the first time, it loads every algorithm
