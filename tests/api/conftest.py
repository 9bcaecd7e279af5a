from collections.abc import AsyncIterator
from dataclasses import dataclass

import httpx
import pytest
from fastapi import FastAPI

from app.api.application import create_app
from app.api.limits import Limits
from app.api.serving import Serving
from tests.api.fakes import FakePending, FakeTenants

SMALL = Limits(
    max_body_bytes=20_000, max_import_bytes=1_000_000, max_batch_items=20, max_line_bytes=1000,
    max_features_per_example=500,
)  # fmt: skip


@dataclass
class Service:
    """The application over fakes, and a client of it."""

    app: FastAPI
    tenants: FakeTenants
    pending: FakePending
    client: httpx.AsyncClient


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
    return create_app(serving=Serving(tenants, pending, SMALL))


@pytest.fixture
async def client(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=True)
    async with httpx.AsyncClient(transport=transport, base_url="http://sluice") as client:
        yield client


@pytest.fixture
def service(app: FastAPI, tenants: FakeTenants, pending: FakePending, client: httpx.AsyncClient) -> Service:
    return Service(app, tenants, pending, client)
