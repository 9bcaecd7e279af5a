"""Counts and log lines of requests; inputs are logged only if that is configured."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from app.api.middleware import request_log as module
from app.api.middleware.request_log import RequestLog
from app.telemetry.counters import Requests
from app.telemetry.logs import FACTS
from tests.api.conftest import Service, new_app, new_backend
from tests.api.fakes import FakeTenants

pytestmark = pytest.mark.anyio
SECRET = {"tenant": "acme", "features": {"a-private-name": 1}}


@asynccontextmanager
async def client_of(
    tenants: FakeTenants, request_log: RequestLog | None = None, requests: Requests | None = None
) -> AsyncIterator[httpx.AsyncClient]:
    app = new_app(new_backend(tenants), requests, request_log=request_log)
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=True)
    async with httpx.AsyncClient(transport=transport, base_url="http://sluice") as client:
        yield client


def facts_of(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    return [getattr(record, FACTS) for record in caplog.records if record.name == "sluice.requests"]


async def test_requests_are_counted_by_the_template_of_their_route(tenants: FakeTenants) -> None:
    requests = Requests()
    async with client_of(tenants, requests=requests) as client:
        await client.post("/predict", json=SECRET)
        await client.get("/tenants/acme")
        await client.get("/tenants/unknown")
        await client.get("/no/such/place")
        await client.delete("/predict")
    assert requests.answered == {
        ("POST", "/predict", 200): 1,
        ("GET", "/tenants/{tenant}", 200): 1,
        ("GET", "/tenants/{tenant}", 404): 1,
        ("GET", "unknown", 404): 1,
        ("DELETE", "/predict", 405): 1,
    }
    assert sum(requests.durations["GET", "/tenants/{tenant}"].counts) == 2
    assert requests.in_progress == 0


async def test_an_internal_error_is_counted_as_500(tenants: FakeTenants) -> None:
    requests = Requests()
    tenants.broken = ZeroDivisionError()
    async with client_of(tenants, requests=requests) as client:
        await client.post("/predict", json=SECRET)
    assert requests.answered == {("POST", "/predict", 500): 1}


@pytest.mark.parametrize(
    ("logged", "trouble", "lines"),
    [("none", True, 0), ("failed", False, 0), ("failed", True, 1), ("all", False, 1), ("all", True, 1)],
)
async def test_requests_are_logged_as_the_operator_wants(
    logged: str, trouble: bool, lines: int, tenants: FakeTenants, caplog: pytest.LogCaptureFixture
) -> None:
    tenants.trouble = "Redis is down" if trouble else None
    with caplog.at_level(logging.INFO):
        async with client_of(tenants, RequestLog(logged)) as client:
            await client.post("/feedback", json=SECRET | {"label": 1}, headers={"x-request-id": "r-1"})
    facts = facts_of(caplog)
    assert len(facts) == lines
    for line in facts:
        assert line.pop("milliseconds") >= 0.0
        assert line == {
            "request_id": "r-1",
            "method": "POST",
            "route": "/feedback",
            "tenant": "acme",
            "status": 503 if trouble else 200,
        }


async def test_a_slow_request_is_logged_too(
    tenants: FakeTenants, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SLOW_SECONDS", 0.0)
    with caplog.at_level(logging.INFO):
        async with client_of(tenants, RequestLog()) as client:
            await client.get("/livez")
    assert [line["route"] for line in facts_of(caplog)] == ["/livez"]


@pytest.mark.parametrize("with_inputs", [False, True])
async def test_inputs_are_logged_only_if_enabled(
    with_inputs: bool, tenants: FakeTenants, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        async with client_of(tenants, RequestLog("all", with_inputs=with_inputs)) as client:
            await client.post("/predict", json=SECRET)
            await client.post("/predict", json=SECRET | {"features": {"x" * 5000: 1}})
    facts = facts_of(caplog)
    assert len(facts) == 2
    assert [("a-private-name" in str(line)) for line in facts] == [with_inputs, False]
    assert all(len(line.get("input", "")) <= 2000 for line in facts)


async def test_metrics_are_text(service: Service) -> None:
    answer = await service.client.get("/metrics")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
