"""GET /livez and /readyz."""

from fastapi import APIRouter
from starlette.requests import Request

from app.api import service_operations as operations
from app.api.answers import Answer, encode
from app.api.serving import DirectRoute, Serving, serving, token_of
from app.api.wire import AliveOut, PartOut, ReadyOut
from app.auth.errors import Unauthenticated
from app.auth.keys import ALL

router = APIRouter(route_class=DirectRoute)
ALIVE = encode(AliveOut())
NO_STORE = (b"cache-control", b"no-store")


@router.get("/livez", **operations.LIVE)
async def is_alive(_: Request) -> Answer:
    """The process answers, whatever its dependencies do."""
    return Answer(ALIVE, headers=[NO_STORE])


@router.get("/readyz", **operations.READY)
async def is_ready(request: Request) -> Answer:
    """Whether everything that is needed works, part by part; tenants are named to whoever may know of all of them."""
    serve = serving(request)
    readiness = serve.tenants.ready()
    everything = serve.guard.is_open or _may_know_all(request, serve)
    parts = {
        name: PartOut(part.ok, part.detail if everything else part.public_detail)
        for name, part in readiness.parts.items()
    }
    out = ReadyOut("ready" if readiness.ready else "not ready", parts)
    return Answer(encode(out), 200 if readiness.ready else 503, headers=[NO_STORE])


def _may_know_all(request: Request, serve: Serving) -> bool:
    try:
        key = serve.guard.recognized(token_of(request.scope))
    except Unauthenticated:
        return False
    return key is not None and ALL in key.tenants
