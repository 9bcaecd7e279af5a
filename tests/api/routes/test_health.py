"""GET /livez and /readyz."""

import pytest

from tests.api.conftest import Service

pytestmark = pytest.mark.anyio


async def test_the_process_is_alive_while_the_store_is_down(service: Service) -> None:
    service.tenants.trouble = "Redis is down"
    answer = await service.client.get("/livez")
    assert (answer.status_code, answer.json()) == (200, {"status": "alive"})


async def test_readiness_names_every_part(service: Service) -> None:
    answer = await service.client.get("/readyz")
    assert answer.status_code == 200
    parts = {"redis": {"ok": True, "detail": "in contact"}, "keys": {"ok": True, "detail": "in order"}}
    assert answer.json() == {"status": "ready", "parts": parts}
    assert answer.headers["cache-control"] == "no-store"


async def test_a_service_without_its_store_is_not_ready(service: Service) -> None:
    service.tenants.trouble = "Connection refused"
    answer = await service.client.get("/readyz")
    assert answer.status_code == 503
    parts = {"redis": {"ok": False, "detail": "Connection refused"}, "keys": {"ok": True, "detail": "in order"}}
    assert answer.json() == {"status": "not ready", "parts": parts}
