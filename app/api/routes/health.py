"""GET /livez and /readyz, also under other names that people and probes know."""

from fastapi import APIRouter, Response
from starlette.requests import Request

from app.api import examples
from app.api.authorisation import token_of
from app.api.dependencies import Service
from app.api.documentation import example
from app.api.json_route import ApiRoute
from app.api.responses import NO_STORE
from app.api.schemas.health import LiveResponse, ReadyPart, ReadyResponse
from app.auth.authenticator import Authenticator
from app.auth.errors import Unauthenticated
from app.auth.keys import ALL
from app.tenants.readiness import Part

router = APIRouter(route_class=ApiRoute, tags=["health"])


# Not readiness: a probe that restarts services must not do that because the store is down.
@router.get("/health", include_in_schema=False)
@router.get("/healthz", include_in_schema=False)
@router.get(
    "/livez",
    summary="Is the process alive?",
    description="Depends on nothing else.",
    response_description="It is.",
    responses=example({"status": "alive"}),
)
async def is_alive(response: Response) -> LiveResponse:
    """Answer, whatever the state of the dependencies."""
    response.headers["cache-control"] = NO_STORE
    return LiveResponse()


@router.get("/ready", include_in_schema=False)
@router.get(
    "/readyz",
    summary="Is the service ready?",
    description="Names every dependency.",
    response_description="It is.",
    responses=example(examples.READY)
    | {503: {"model": ReadyResponse, "description": "It is not."} | example(examples.NOT_READY, 503)[503]},
)
async def is_ready(request: Request, response: Response, backend: Service) -> ReadyResponse:
    """Tell whether every dependency works. Tenants are named only to callers that may see all of them."""
    readiness = backend.tenants.ready()
    authenticator = backend.authenticator
    try:
        key = authenticator.identify(token_of(request.scope))
    except Unauthenticated:
        key = None
    sees_all = authenticator.is_open or (key is not None and ALL in key.tenants)
    response.headers["cache-control"] = NO_STORE
    is_ready = readiness.ready and authenticator.is_ready
    response.status_code = 200 if is_ready else 503
    parts = {**readiness.parts, "keys": keys_part(authenticator)}
    return ReadyResponse(
        status="ready" if is_ready else "not ready",
        parts={
            name: ReadyPart(ok=part.ok, detail=part.detail if sees_all else part.public_detail)
            for name, part in parts.items()
        },
    )


def keys_part(authenticator: Authenticator) -> Part:
    """Describe the state of the keys."""
    if not authenticator.is_ready:
        return Part(ok=False, detail="the keys could not be read from the store yet")
    notes = authenticator.notes
    return Part(ok=True, detail="; ".join(notes) or "in order", public="see the service's log" if notes else "in order")
