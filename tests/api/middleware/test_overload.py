"""Load shedding: by requests in progress, and by the lag of the event loop."""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from app.api.middleware.overload import PROBE_SECONDS, Overload
from app.telemetry.counters import Requests
from tests.api.conftest import around
from tests.api.exchanges import exchange

pytestmark = pytest.mark.anyio


async def answers(scope: Scope, receive: Receive, send: Send) -> None:
    del scope, receive
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


class Hanging:
    """An application that answers when it is let go."""

    def __init__(self) -> None:
        self.go = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.go.wait()
        await answers(scope, receive, send)


def new_overload(requests: Requests, max_concurrent: int = 1000, max_lag_seconds: float = 1.0, **more: Any) -> Overload:  # noqa: ANN401
    return Overload(requests, max_concurrent, max_lag_seconds, **more)


@contextlib.asynccontextmanager
async def probed(overload: Overload) -> AsyncIterator[None]:
    probing = asyncio.create_task(overload.probe())
    await asyncio.sleep(0)
    yield
    probing.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await probing


def lag(overload: Overload) -> str | None:
    return overload.reason(time.perf_counter())


async def test_beyond_the_limit_a_request_is_refused_at_once_and_the_others_are_answered() -> None:
    requests, hanging = Requests(), Hanging()
    middleware = around(hanging, requests, new_overload(requests, max_concurrent=2))
    under_way = [asyncio.create_task(exchange(middleware, "/feedback", [])) for _ in range(2)]
    await asyncio.sleep(0)
    refused = await exchange(middleware, "/feedback", [])
    assert (refused.status, refused.json()["type"], refused.received) == (503, "/problems/overloaded", 0)
    assert refused.json()["detail"] == "too many requests are in progress (SLUICE_MAX_CONCURRENT_REQUESTS)"
    headers = dict(refused.messages[0]["headers"])
    assert (headers[b"retry-after"], headers[b"x-request-id"].decode()) == (b"1", refused.json()["request_id"])
    hanging.go.set()
    assert [(await each).status for each in under_way] == [200, 200]
    assert (await exchange(middleware, "/feedback", [])).status == 200
    assert {reason: count for reason, count in requests.shed.items() if count} == {"concurrency": 1}
    assert requests.answered["POST", "unknown", 503] == 1
    assert requests.in_progress == 0


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/metrics"])
async def test_health_and_metrics_are_always_answered(path: str) -> None:
    requests = Requests()
    requests.in_progress = 5
    assert (await exchange(around(answers, requests, new_overload(requests, 5)), path, [])).status == 200


async def test_the_probe_finds_a_loop_that_is_late_and_one_that_has_recovered() -> None:
    overload = new_overload(Requests(), max_lag_seconds=0.1)
    async with probed(overload):
        assert lag(overload) is None
        time.sleep(0.2)  # noqa: ASYNC251 - a handler that computes
        assert lag(overload) == "lag"  # also before the probe's turn comes
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert lag(overload) == "lag"  # and for a moment after it, until it is found to be over
        await asyncio.sleep(3 * PROBE_SECONDS)
        assert lag(overload) is None


async def test_a_little_lag_is_nothing() -> None:
    overload = new_overload(Requests(), max_lag_seconds=5.0)
    async with probed(overload):
        time.sleep(0.1)  # noqa: ASYNC251 - a handler that computes
        assert lag(overload) is None


async def test_without_a_limit_on_lag_nothing_is_measured() -> None:
    overload = new_overload(Requests(), max_lag_seconds=0.0)
    await asyncio.wait_for(overload.probe(), 1)
    assert overload.reason(float("1e12")) is None


async def test_a_probe_that_has_ended_refuses_no_request() -> None:
    overload = new_overload(Requests(), max_lag_seconds=0.01)
    async with probed(overload):
        pass
    time.sleep(0.1)  # noqa: ASYNC251 - a handler that computes
    assert lag(overload) is None


async def test_many_that_only_compute_are_refused_from_the_moment_on_that_the_loop_is_late() -> None:
    async def computes(scope: Scope, receive: Receive, send: Send) -> None:
        time.sleep(0.01)  # noqa: ASYNC251 - it never awaits, so requests do not overlap
        await answers(scope, receive, send)

    requests = Requests()
    overload = new_overload(requests, max_lag_seconds=0.1)
    async with probed(overload):
        sent = await asyncio.gather(
            *(exchange(around(computes, requests, overload), "/predict", []) for _ in range(60))
        )
    served = [each.status for each in sent].count(200)
    assert 1 <= served < 30
    assert requests.shed["lag"] == 60 - served


async def test_refusals_are_logged_at_intervals(caplog: pytest.LogCaptureFixture) -> None:
    seconds = 1000.0
    overload = new_overload(Requests(), now=lambda: seconds)
    with caplog.at_level(logging.WARNING):
        for _ in range(100):
            overload.shed("lag")
        assert caplog.text.count("refusing requests") == 1
        seconds += 11
        overload.shed("lag")
    assert caplog.text.count("refusing requests") == 2


async def test_what_a_refused_request_sends_is_not_read() -> None:
    requests = Requests()
    requests.in_progress = 1
    sent = await exchange(around(answers, requests, new_overload(requests, 1)), "/predict", [b"x"] * 9)
    assert sent.received == 0
