"""Delayed refusals, and connections beyond the limit: real sockets, a fake application."""

import asyncio
import contextlib
import dataclasses
import time
from itertools import pairwise

import pytest
from fastapi import FastAPI

from app.api.middleware.overload import Overload
from app.server.connection_limits import MAX_SECONDS, MIN_SECONDS, PER_SECOND, SPARE_CONNECTIONS, RefusalDelay
from app.server.protocol import EXTRA_SECONDS
from app.telemetry.counters import Requests
from tests.api.conftest import LIMITS as REQUEST_LIMITS
from tests.api.conftest import new_app, new_backend
from tests.api.fakes import FakeTenants
from tests.server.connections import (
    ASKED,
    GET,
    IN_TIME,
    LIMITS,
    SOON,
    body_of,
    connected,
    everything,
    one_answer,
    served,
)

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

POST = b"POST /predict HTTP/1.1\r\nhost: x\r\nx-request-id: %b\r\ncontent-length: %d\r\n\r\n%b"
REFUSED = POST % (b"mine", len(ASKED), ASKED)


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": True}  # as the service has it


def ours(requests: Requests | None = None, overload: Overload | None = None) -> FastAPI:
    return new_app(new_backend(FakeTenants(), limits=REQUEST_LIMITS), requests, overload)


def full(requests: Requests) -> FastAPI:
    """A service that refuses everything but questions about its health."""
    requests.in_progress = 1
    return ours(requests, Overload(requests, max_concurrent=1, max_lag_seconds=1.0))


def test_the_delay_grows_with_the_number_of_waiting_refusals_and_is_spread() -> None:
    delay = RefusalDelay()
    for waiting, usual in ((0, MIN_SECONDS), (PER_SECOND, 1.0), (1_000_000, MAX_SECONDS)):
        delay.waiting = waiting
        shares = sorted(delay.seconds() / usual for _ in range(100))
        assert 0.75 <= shares[0] < 0.76
        assert 1.24 < shares[-1] <= 1.25
        assert max(later - sooner for sooner, later in pairwise(shares)) < 0.02


async def test_a_refusal_is_delayed_and_the_connection_stays_open() -> None:
    requests = Requests()
    async with served(full(requests)) as port, connected(port) as (reader, writer):
        for refused in range(1, 4):
            since = time.perf_counter()
            writer.write(REFUSED)
            answer = await one_answer(reader)
            assert time.perf_counter() - since > MIN_SECONDS / 2
            assert answer.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
            assert b"\r\nx-request-id: mine\r\n" in answer
            assert b"\r\nretry-after: 1\r\n" in answer
            assert b"\r\ncontent-type: application/problem+json\r\n" in answer
            assert (body_of(answer)["type"], body_of(answer)["request_id"]) == ("/problems/overloaded", "mine")
            assert requests.shed["concurrency"] == refused
            assert requests.answered["POST", "unknown", 503] == refused
        writer.write(GET)
        assert b'{"status":"alive"}' in await one_answer(reader)


async def test_other_requests_do_not_wait_for_delayed_refusals() -> None:
    delay = RefusalDelay()
    delay.waiting = 10_000  # pretend that many wait: the next one has a long delay
    app = full(Requests())
    async with served(app, delay=delay) as port, connected(port) as (slow, held), connected(port) as (reader, writer):
        held.write(REFUSED)
        refusal = asyncio.create_task(one_answer(slow))
        while delay.waiting == 10_000:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        for _ in range(3):
            writer.write(GET)
            assert b'{"status":"alive"}' in await one_answer(reader)
        assert not refusal.done()
        assert (await refusal).startswith(b"HTTP/1.1 503 ")
        assert delay.waiting == 10_000


async def test_answers_keep_their_order_after_a_delayed_one() -> None:
    async with served(full(Requests())) as port, connected(port) as (reader, writer):
        writer.write(b"".join(POST % (b"%d" % number, 2, b"{}") + GET for number in range(3)))
        for number in range(3):
            assert b"\r\nx-request-id: %d\r\n" % number in await one_answer(reader)
            assert (await one_answer(reader)).startswith(b"HTTP/1.1 200")


async def test_the_rest_of_a_body_is_not_kept_while_its_refusal_is_delayed() -> None:
    size = 3_000_000
    async with served(full(Requests())) as port, connected(port) as (reader, writer):
        writer.write(POST % (b"long", size, b"x" * size))
        assert (await one_answer(reader)).startswith(b"HTTP/1.1 503 ")
        writer.write(GET)
        assert (await one_answer(reader)).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    ("asked", "has_body"),
    [
        (b"HEAD /docs HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n", False),
        (b"GET /docs HTTP/1.0\r\n\r\n", True),
        (REFUSED.replace(b"host: x", b"host: x\r\nconnection: close"), True),
    ],
)
async def test_a_client_that_closes_its_side_also_gets_its_refusal(asked: bytes, has_body: bool) -> None:
    async with served(full(Requests())) as port, connected(port) as (reader, writer):
        writer.write(asked)
        answer = await everything(reader)
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b"\r\nconnection: close\r\n" in answer
    assert answer.endswith(b"}") == has_body


async def test_shutdown_does_not_wait_for_refusals_and_a_disconnected_client_is_removed() -> None:
    delay = RefusalDelay()
    delay.waiting = 10_000
    app = full(Requests())
    async with contextlib.AsyncExitStack() as clients:
        async with served(app, delay=delay) as port:
            (reader, writer), (_, gone) = [await clients.enter_async_context(connected(port)) for _ in range(2)]
            writer.write(REFUSED)
            gone.write(REFUSED)
            while delay.waiting < 10_002:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            gone.transport.abort()
            while delay.waiting > 10_001:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            since = time.perf_counter()
        assert time.perf_counter() - since < MAX_SECONDS / 2
        assert (await everything(reader)).startswith(b"HTTP/1.1 503 ")
        assert delay.waiting == 10_000


async def test_beyond_the_limit_a_connection_may_only_request_health_and_metrics() -> None:
    limits = dataclasses.replace(LIMITS, max_connections=2)
    requests = Requests()
    async with contextlib.AsyncExitStack() as clients:
        port = await clients.enter_async_context(served(ours(requests), limits))
        within = [await clients.enter_async_context(connected(port)) for _ in range(2)]
        for reader, writer in within:
            writer.write(GET)
            assert (await one_answer(reader)).startswith(b"HTTP/1.1 200")
        async with connected(port) as (reader, writer):
            writer.write(REFUSED * 2)
            answer = await everything(reader)
        assert answer.count(b"HTTP/1.1 ") == answer.count(b"HTTP/1.1 503 ") == 1
        assert b"\r\nconnection: close\r\n" in answer
        assert b"\r\nretry-after: 1\r\n" in answer
        assert body_of(answer)["detail"] == "too many connections are open (SLUICE_MAX_CONNECTIONS)"
        assert requests.shed["connections"] == 1
        async with connected(port) as (reader, writer):
            writer.write(GET)
            answer = await everything(reader)
            assert answer.startswith(b"HTTP/1.1 200")
            assert b"\r\nconnection: close\r\n" in answer
        for reader, writer in within:
            writer.write(GET)
            assert (await one_answer(reader)).startswith(b"HTTP/1.1 200")
        within[0][1].transport.abort()
        await asyncio.sleep(SOON / 3)
        async with connected(port) as (reader, writer):
            writer.write(GET * 2)
            assert [(await one_answer(reader))[:12] for _ in range(2)] == [b"HTTP/1.1 200"] * 2


async def test_far_beyond_the_limit_a_connection_is_closed_at_once() -> None:
    limits = dataclasses.replace(LIMITS, max_connections=1, head_seconds=IN_TIME)
    async with contextlib.AsyncExitStack() as clients:
        port = await clients.enter_async_context(served(ours(), limits))
        for _ in range(SPARE_CONNECTIONS + 1):
            await clients.enter_async_context(connected(port))
        async with connected(port) as (reader, _):
            since = time.perf_counter()
            assert await everything(reader) == b""
            assert time.perf_counter() - since < EXTRA_SECONDS / 2
