"""GET /tenants/{tenant}/events: the state of a tenant, live, as server-sent events."""

import asyncio
import random
import time
from collections.abc import AsyncGenerator
from contextlib import suppress
from itertools import count
from typing import Annotated, Final

from fastapi import APIRouter, Query
from pydantic import BeforeValidator
from starlette.requests import Request

from app.api import examples
from app.api.authorisation import RoleRoute, authenticate
from app.api.dependencies import OwnTenant, Service, Tenants, needs
from app.api.documentation import EVENT_SCHEMA, WITH_TENANT, answer_in, other_body, refusals
from app.api.json_route import ApiRoute
from app.api.parameters import KnownQuery, whole_number
from app.api.responses import EventStream
from app.api.routes.tenants import TenantPath
from app.api.schemas.review.live import LiveStateResponse
from app.auth.errors import Forbidden
from app.learning.errors import SluiceError
from app.review.live import LiveState
from app.storage.errors import StoreUnavailable

router = APIRouter(route_class=ApiRoute, tags=["review"], dependencies=[KnownQuery])
LOOK_SECONDS: Final = 1.0  # between two looks at the state
HEARTBEAT_SECONDS: Final = 15.0  # proxies close a connection on which nothing happens
HEARTBEAT: Final = b": nothing has changed\n\n"
RETRY_MILLISECONDS: Final = (1000, 3000)  # until a browser connects again: not all at once
MOST_EVENTS: Final = 1_000_000

Limit = Annotated[
    int | None,
    BeforeValidator(lambda text: text if text is None else whole_number("limit", str(text), 1, MOST_EVENTS)),
    Query(ge=1, le=MOST_EVENTS, description="End after so many events; by default the stream has no end."),
]


@router.get(
    "/tenants/{tenant}/events",
    status_code=200,
    summary="Watch a tenant",
    description="Server-sent events named `state`: one at once, then one whenever something has changed, at most once "
    "a second. A comment comes every 15 seconds. The stream ends with the key or the session, with the tenant, and "
    "when the service stops; a browser connects again by itself. A worker has up to SLUICE_MAX_EVENT_STREAMS.",
    dependencies=[needs("review"), OwnTenant],
    response_class=EventStream,
    response_description="The events, as lines of text. The data of each is a `LiveStateResponse`, as JSON.",
    responses=answer_in(other_body("text/event-stream", EVENT_SCHEMA, examples.EVENT)) | refusals(*WITH_TENANT),
)
async def watch_tenant(
    tenant: TenantPath, request: Request, tenants: Tenants, service: Service, limit: Limit = None
) -> EventStream:
    """Stream the state of a tenant."""
    service.event_streams.check()
    state = await service.live.of(tenants.held(tenant) or await tenants.hold(tenant, create=False))
    first = b"retry: %d\n" % random.randint(*RETRY_MILLISECONDS) + _event(tenant, state)  # noqa: S311 - no secret
    return EventStream(first, _changes(request, tenant, tenants, service, state, limit), service.event_streams)


async def _changes(  # noqa: PLR0913, PLR0917 - what the route has
    request: Request, tenant: str, tenants: Tenants, service: Service, last: LiveState, limit: int | None
) -> AsyncGenerator[bytes, None]:
    """Yield an event for each change, and heartbeats."""
    sent_at = time.monotonic()
    numbers = count(2)
    while limit is None or next(numbers) <= limit:
        event = b""
        while not event:
            await asyncio.sleep(LOOK_SECONDS - time.monotonic() % LOOK_SECONDS)  # all look at the same moment
            try:
                await _check_access(request, tenant)
                with suppress(StoreUnavailable):
                    state = await service.live.of(tenants.held(tenant) or await tenants.hold(tenant, create=False))
                    if state is not last:
                        last, event = state, _event(tenant, state)
            except SluiceError:  # the key, the session or the tenant is gone: the next request gets the error
                return
            if not event and time.monotonic() - sent_at >= HEARTBEAT_SECONDS:
                sent_at = time.monotonic()
                yield HEARTBEAT
        sent_at = time.monotonic()
        yield event


async def _check_access(request: Request, tenant: str) -> None:
    """Check again that the caller may see the tenant: a key may be revoked, and a session may end."""
    route: RoleRoute = request.scope["route"]
    with suppress(StoreUnavailable):  # then what is known stays valid
        key = await authenticate(request.scope, route.role)
        if key is not None and not key.covers(tenant):
            raise Forbidden.tenant(tenant)


def _event(tenant: str, state: LiveState) -> bytes:
    return b"event: state\ndata: %b\n\n" % LiveStateResponse.of(tenant, state).model_dump_json().encode()
