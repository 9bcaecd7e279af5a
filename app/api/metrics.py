"""GET /metrics: what Prometheus reads."""

from fastapi import APIRouter
from starlette.requests import Request

from app.api import operations
from app.api.answers import Answer
from app.api.serving import DirectRoute, serving

router = APIRouter(route_class=DirectRoute)
TEXT = b"text/plain; version=0.0.4; charset=utf-8"


@router.get("/metrics", **operations.METRICS)
async def show_metrics(request: Request) -> Answer:
    """The metrics of all workers of this service."""
    return Answer(await serving(request).metrics(), content_type=TEXT)
