from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from starlette.types import ASGIApp

from app.api.app import create_app
from app.api.backend import Backend
from app.api.middleware.event_streams import EventStreams
from app.api.middleware.overload import Overload
from app.api.middleware.request import RequestMiddleware
from app.api.middleware.request_log import RequestLog
from app.auth.audit import Audit
from app.auth.authenticator import Authenticator
from app.auth.label_rate import LabelRates
from app.auth.sessions import Sessions
from app.features.featurizer import features_of
from app.main import request_limits
from app.review.live import LiveStates
from app.settings import Settings
from app.telemetry.counters import Requests
from tests.api.fake_pending import FakePending
from tests.api.fake_review import FakeOverview, FakeReview, FakeSecondReviews
from tests.api.fakes import FakeTenants

LIMITS = request_limits(Settings.from_environment({}))
SMALL = replace(
    LIMITS, max_body_bytes=20_000, max_import_bytes=1_000_000, max_batch_items=20, max_line_bytes=1000,
    max_features_per_example=500,
)  # fmt: skip


async def no_metrics() -> bytes:
    return b""


def new_backend(tenants: FakeTenants, pending: FakePending | None = None, **others: Any) -> Backend:  # noqa: ANN401
    """A backend over fakes, open to everyone, without rate limits."""
    usual: dict[str, Any] = {
        "limits": SMALL, "featurize": features_of, "metrics": no_metrics, "authenticator": Authenticator(),
        "audit": Audit(), "label_rates": LabelRates(), "review": FakeReview(),
        "second_reviews": FakeSecondReviews(),
        "event_streams": EventStreams(2, Requests()),
    }  # fmt: skip
    given = usual | others
    given.setdefault("overview", FakeOverview(tenants))
    given.setdefault("live", LiveStates(given["review"]))
    given.setdefault("sessions", Sessions(given["authenticator"]))
    return Backend(tenants, pending or FakePending(tenants), **given)


def new_app(
    backend: Backend | None = None,
    requests: Requests | None = None,
    overload: Overload | None = None,
    request_log: RequestLog | None = None,
) -> FastAPI:
    """An application as `app.main` builds it, without the work in the background."""
    requests = requests or Requests()
    return create_app(
        requests=requests,
        overload=overload or Overload(requests, max_concurrent=1000, max_lag_seconds=1.0),
        request_log=request_log or RequestLog(),
        backend=backend,
    )


def around(app: ASGIApp, requests: Requests | None = None, overload: Overload | None = None) -> RequestMiddleware:
    """The middleware around an application."""
    requests = requests or Requests()
    overload = overload or Overload(requests, max_concurrent=1000, max_lag_seconds=1.0)
    return RequestMiddleware(app, requests, overload, RequestLog())


@dataclass
class Service:
    """The application over fakes, and a client of it."""

    app: FastAPI
    tenants: FakeTenants
    pending: FakePending
    client: httpx.AsyncClient

    @property
    def review(self) -> FakeReview:
        queue = self.app.state.backend.review
        assert isinstance(queue, FakeReview)
        return queue


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def tenants() -> FakeTenants:
    return FakeTenants()


@pytest.fixture
def pending(tenants: FakeTenants) -> FakePending:
    return FakePending(tenants)


@pytest.fixture
def app(tenants: FakeTenants, pending: FakePending) -> FastAPI:
    return new_app(new_backend(tenants, pending))


@pytest.fixture
async def client(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=True)
    async with httpx.AsyncClient(transport=transport, base_url="http://sluice") as client:
        yield client


@pytest.fixture
def service(app: FastAPI, tenants: FakeTenants, pending: FakePending, client: httpx.AsyncClient) -> Service:
    return Service(app, tenants, pending, client)
