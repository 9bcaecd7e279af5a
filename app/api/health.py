"""GET /livez and /readyz."""

from fastapi import APIRouter
from starlette.requests import Request

from app.api import operations
from app.api.answers import Answer, encode
from app.api.serving import DirectRoute, serving
from app.api.wire import AliveOut, PartOut, ReadyOut

router = APIRouter(route_class=DirectRoute)
ALIVE = encode(AliveOut())
NO_STORE = (b"cache-control", b"no-store")


@router.get("/livez", **operations.LIVE)
async def is_alive(_: Request) -> Answer:
    """The process answers, whatever its dependencies do."""
    return Answer(ALIVE, headers=[NO_STORE])


@router.get("/readyz", **operations.READY)
async def is_ready(request: Request) -> Answer:
    """Whether everything that is needed works, part by part."""
    readiness = serving(request).tenants.ready()
    parts = {name: PartOut(part.ok, part.detail) for name, part in readiness.parts.items()}
    out = ReadyOut("ready" if readiness.ready else "not ready", parts)
    return Answer(encode(out), 200 if readiness.ready else 503, headers=[NO_STORE])
