"""GET /metrics: what Prometheus reads."""

import re

from fastapi import APIRouter
from starlette.requests import Request

from app.api import service_operations as operations
from app.api.answers import Answer
from app.api.serving import DirectRoute, serving
from app.auth.keys import ALL, Key

router = APIRouter(route_class=DirectRoute)
TEXT = b"text/plain; version=0.0.4; charset=utf-8"
TENANT = re.compile(rb'[{,]tenant="([^"]*)"')
COMMENT = b"#"


@router.get("/metrics", **operations.METRICS)
async def show_metrics(request: Request) -> Answer:
    """The metrics of all workers of this service; with a key for some tenants, those of these tenants alone."""
    page = await serving(request).metrics()
    key: Key | None = request.scope.get("key")
    if key is not None and ALL not in key.tenants:
        page = b"".join(line for line in page.splitlines(keepends=True) if _is_of(key, line))
    return Answer(page, content_type=TEXT)


def _is_of(key: Key, line: bytes) -> bool:
    """Whether a line tells of the key's tenants only: what is summed over tenants tells of the others too."""
    found = TENANT.search(line)
    return line.startswith(COMMENT) or (found is not None and key.covers(found[1].decode()))
