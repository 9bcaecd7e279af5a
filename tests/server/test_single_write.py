"""Answers with one write, on real sockets: the same bytes as uvicorn's own."""

import asyncio
import dataclasses
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tests.api.conftest import LIMITS, new_app, new_backend
from tests.api.fake_pending import FakePending
from tests.api.fakes import FakeTenants
from tests.server.connections import ASKED, GET, IN_TIME, connected, everything, one_answer, served
from tests.server.connections import LIMITS as CONNECTION_LIMITS

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

PREDICT = b"POST /predict HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n%b" % (len(ASKED), ASKED)
ASKED_SO = {
    "a prediction": PREDICT,
    "a GET": GET,
    "a HEAD": GET.replace(b"GET", b"HEAD"),
    "a connection that shall end": GET.replace(b"host", b"connection: close\r\nhost"),
    "HTTP/1.0": GET.replace(b"HTTP/1.1", b"HTTP/1.0"),
}


class Watched:
    """A middleware that wants to see every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def seen(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"seen", b"yes")]
            await send(message)

        await self._app(scope, receive, seen)


class Counted:
    """A transport that counts its writes."""

    def __init__(self, transport: Any, writes: list[bytes]) -> None:  # noqa: ANN401 - uvloop's has no name
        self._transport = transport
        self._writes = writes

    def write(self, data: bytes) -> None:
        self._writes.append(data)
        self._transport.write(data)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever a transport has
        return getattr(self._transport, name)


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": True}  # as the service has it


@pytest.fixture
def app(tenants: FakeTenants, pending: FakePending) -> FastAPI:
    return new_app(new_backend(tenants, pending, limits=LIMITS))


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    made: list[bytes] = []
    begin = HttpToolsProtocol.connection_made

    def counted(self: HttpToolsProtocol, transport: Any) -> None:  # noqa: ANN401 - uvloop's has no name
        begin(self, Counted(transport, made))  # type: ignore[arg-type]

    monkeypatch.setattr(HttpToolsProtocol, "connection_made", counted)
    return made


@asynccontextmanager
async def watched(app: FastAPI) -> AsyncIterator[int]:
    app.add_middleware(Watched)
    async with served(app) as port:
        yield port


async def answers(port: int, request: bytes) -> bytes:
    """To one request, until the connection ends."""
    async with connected(port) as (reader, writer):
        writer.write(request)
        writer.write_eof()
        return await everything(reader)


def settled(answer: bytes) -> bytes:
    """Without what differs from request to request."""
    return re.sub(rb"(date|x-request-id): [^\r]*|[0-9a-f]{12}-[0-9a-f]+", b"*", answer)


@pytest.mark.parametrize("request_sent", ASKED_SO.values(), ids=ASKED_SO)
async def test_it_has_the_same_bytes_as_uvicorns_answer(app: FastAPI, request_sent: bytes) -> None:
    async with served(app) as port:
        at_once = await answers(port, request_sent)
    app.middleware_stack = None
    async with watched(app) as port:
        by_messages = await answers(port, request_sent)
    assert at_once
    assert settled(at_once) == settled(by_messages).replace(b"seen: yes\r\n", b"")
    assert b"seen: yes\r\n" in by_messages, "a middleware sees every answer"


async def test_it_is_one_write(app: FastAPI, writes: list[bytes]) -> None:
    async with served(app) as port, connected(port) as (reader, writer):
        for _ in range(3):
            writer.write(PREDICT)
            await one_answer(reader)
    assert len(writes) == 3


async def test_answers_are_in_the_order_of_the_requests(app: FastAPI) -> None:
    wanted = [b"GET /livez HTTP/1.1\r\nhost: x\r\nx-request-id: r%d\r\n\r\n" % number for number in range(20)]
    async with served(app) as port, connected(port) as (reader, writer):
        writer.write(b"".join(wanted))
        found = [await one_answer(reader) for _ in wanted]
    assert all(b"\r\nx-request-id: r%d\r\n" % number in answer for number, answer in enumerate(found))


async def test_a_client_that_does_not_read_gets_no_more_answers(app: FastAPI, writes: list[bytes]) -> None:
    large = b"GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n"
    patient = dataclasses.replace(CONNECTION_LIMITS, reader_seconds=IN_TIME)
    async with served(app, patient) as port, connected(port) as (reader, writer):
        reader._limit = 1  # type: ignore[attr-defined]  # noqa: SLF001 - asyncio would continue to read
        sent, stalled_at = 0, -1
        while len(writes) != stalled_at and sent < 2000:  # one after the other: too many at once end a connection
            writer.write(large)
            sent += 1
            stalled_at = len(writes) if len(writes) < sent - 1 else -1
            await asyncio.sleep(0.3 if stalled_at >= 0 else 0.02)
        assert 0 < len(writes) < sent < 2000
        reader._limit = 2**16  # type: ignore[attr-defined]  # noqa: SLF001
        assert (await asyncio.wait_for(reader.readline(), IN_TIME)).startswith(b"HTTP/1.1 200")
