"""The fakes that the application is served over, and a port at which it is served."""

import dataclasses
from collections.abc import AsyncIterator

import pytest

from tests.api.conftest import LIMITS, anyio_backend, app, client, new_app, new_backend, pending, service, tenants
from tests.api.fake_pending import FakePending
from tests.api.fakes import FakeTenants
from tests.server.connections import SOON, served

__all__ = ["anyio_backend", "app", "client", "pending", "port", "service", "tenants"]


@pytest.fixture
async def port(tenants: FakeTenants, pending: FakePending) -> AsyncIterator[int]:
    async with served(
        new_app(new_backend(tenants, pending, limits=dataclasses.replace(LIMITS, body_idle_seconds=SOON)))
    ) as port:
        yield port
