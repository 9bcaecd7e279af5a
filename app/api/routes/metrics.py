"""GET /metrics: what Prometheus reads."""

import re

from fastapi import APIRouter
from starlette.responses import PlainTextResponse, Response

from app.api import examples
from app.api.dependencies import Caller, Service, needs
from app.api.documentation import example
from app.api.json_route import ApiRoute
from app.auth.keys import ALL, Key

router = APIRouter(route_class=ApiRoute, tags=["health"])
TEXT = "text/plain; version=0.0.4; charset=utf-8"
TENANT = re.compile(rb'[{,]tenant="([^"]*)"')
COMMENT = b"#"


@router.get("/metrics/", include_in_schema=False, dependencies=[needs("metrics")])
@router.get(
    "/metrics",
    summary="Show the metrics",
    description="For Prometheus, of all workers of this service; docs/metrics.md explains each metric.",
    dependencies=[needs("metrics")],
    response_class=PlainTextResponse,
    response_description="The metrics.",
    responses=example(examples.METRICS, content_type="text/plain"),
)
async def show_metrics(backend: Service, caller: Caller) -> Response:
    """Show the metrics of all workers; a key for some tenants sees those of its tenants only."""
    page = await backend.metrics()
    if caller is not None and ALL not in caller.tenants:
        page = b"".join(line for line in page.splitlines(keepends=True) if _is_visible(caller, line))
    return Response(page, headers={"content-type": TEXT})


def _is_visible(key: Key, line: bytes) -> bool:
    """Return whether a line is about the key's tenants only: a sum over tenants would reveal the others."""
    found = TENANT.search(line)
    return line.startswith(COMMENT) or (found is not None and key.covers(found[1].decode()))
