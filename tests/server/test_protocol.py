"""Connections that are slow, endless or hostile, against the protocol alone: an application of fakes, real sockets."""

import asyncio
import dataclasses
import time

import pytest
from starlette.types import Receive, Scope, Send

from app.server.protocol import MAX_PIPELINE
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
    dripped,
    everything,
    one_answer,
    served,
)

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": True}  # as the service has it


@pytest.mark.parametrize(
    "begin", [b"", b"G", b"GET /livez HTTP/1.1\r\nhost: x\r\n", b"\r\n", GET + b"GET /li"], ids=range(5)
)
async def test_a_missing_head_closes_the_connection(port: int, begin: bytes) -> None:
    async with connected(port) as (reader, writer):
        since = time.perf_counter()
        writer.write(begin)
        answered = await everything(reader)
        assert time.perf_counter() - since > 0.9 * SOON  # the loop's clock is coarse
        assert answered.count(b"HTTP/1.1") == begin.startswith(GET)


@pytest.mark.parametrize("drop", [b"x", b"x: y\r\n", b"\r\n"])
async def test_a_slow_head_closes_the_connection(port: int, drop: bytes) -> None:
    async with connected(port) as (reader, writer):
        writer.write(b"" if drop == b"\r\n" else b"GET /livez HTTP/1.1\r\nhost: x\r\n")
        ending = asyncio.create_task(everything(reader))
        await dripped(writer, [drop] * 60, SOON / 6)
        assert writer.is_closing()
        assert await ending == b""


async def test_stray_bytes_between_requests_do_not_keep_a_connection_open(port: int) -> None:
    async with connected(port) as (reader, writer):
        writer.write(GET)
        await reader.readuntil(b"}")
        ending = asyncio.create_task(everything(reader))
        await dripped(writer, [b"\r\n"] * 60, SOON / 6)
        assert writer.is_closing()
        assert await ending == b""


async def test_a_connection_in_use_outlasts_the_head_timeout(port: int) -> None:
    async with connected(port) as (reader, writer):
        for _ in range(4):
            writer.write(GET)
            await asyncio.wait_for(reader.readuntil(b"}"), IN_TIME)
            await asyncio.sleep(SOON / 2)


async def test_an_idle_connection_is_closed_after_its_own_time() -> None:
    async with served(new_app(new_backend(FakeTenants())), idle_seconds=1) as port, connected(port) as (reader, writer):
        writer.write(GET)
        await reader.readuntil(b"}")
        since = time.perf_counter()
        assert await everything(reader) == b""
        assert time.perf_counter() - since >= 0.9


LONG_HEADS = {
    "one header": GET[:-2] + b"x: " + b"y" * 3000 + b"\r\n\r\n",
    "many headers": GET[:-2] + b"x: y\r\n" * 500 + b"\r\n",
    "the address": b"GET /" + b"y" * 3000 + b" HTTP/1.1\r\nhost: x\r\n\r\n",
}


@pytest.mark.parametrize("head", LONG_HEADS.values(), ids=LONG_HEADS)
@pytest.mark.parametrize("piece", [100, 700, 100_000])
async def test_a_head_that_is_too_large_is_refused(port: int, head: bytes, piece: int) -> None:
    async with connected(port) as (reader, writer):
        await dripped(writer, (head[start : start + piece] for start in range(0, len(head), piece)), 0.005)
        answer = await everything(reader)
    if answer:  # a client that is still sending may lose it
        assert answer.startswith(b"HTTP/1.1 431 ")
        assert b"connection: close\r\n" in answer
        assert body_of(answer)["type"] == "/problems/head-too-large"
        assert "2,000 bytes (SLUICE_MAX_HEAD_BYTES)" in str(body_of(answer)["detail"])
    else:
        assert piece < len(head)


@pytest.mark.parametrize("piece", [50, 100_000])
async def test_a_head_within_the_limit_is_read(port: int, piece: int) -> None:
    head = GET[:-2] + b"x: " + b"y" * 1900 + b"\r\n\r\n"
    async with connected(port) as (reader, writer):
        await dripped(writer, (head[start : start + piece] for start in range(0, len(head), piece)), 0.001)
        assert (await asyncio.wait_for(reader.readline(), IN_TIME)).startswith(b"HTTP/1.1 200")


async def test_a_large_body_does_not_count_as_a_large_head(port: int) -> None:
    body = ASKED.ljust(200_000)
    head = b"POST /predict HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % len(body)
    async with connected(port) as (reader, writer):
        for _ in range(3):
            writer.write(head + body)
        for _ in range(3):
            answer = await asyncio.wait_for(reader.readuntil(b'"needs_review":'), IN_TIME)
            assert b"HTTP/1.1 200" in answer


@pytest.mark.parametrize("flood", [b"x: " + b"y" * 10_000, b"x: y\r\n" * 2000], ids=["one", "many"])
async def test_endless_trailers_are_not_kept(port: int, flood: bytes) -> None:
    head = b"POST /predict HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
    async with connected(port) as (reader, writer):
        writer.write(head + b"%x\r\n%b\r\n0\r\n" % (len(ASKED), ASKED))
        await dripped(writer, [flood] * 20, 0.005)
        assert await everything(reader) == b""  # at once: not even after the time that a body may stall


async def test_too_many_pipelined_requests_close_the_connection(port: int) -> None:
    async with connected(port) as (reader, writer):
        writer.write(GET * (MAX_PIPELINE * 20))
        assert (await everything(reader)).count(b"HTTP/1.1 200") <= MAX_PIPELINE + 1
    async with connected(port) as (reader, writer):
        writer.write(GET * MAX_PIPELINE)
        for _ in range(MAX_PIPELINE):
            await asyncio.wait_for(reader.readuntil(b"}"), IN_TIME)


@pytest.mark.parametrize(
    "sent", [b"EHLO example.org\r\n", b"GET /livez HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00", GET + b"\0\0"]
)
async def test_invalid_http_gets_400(port: int, sent: bytes) -> None:
    async with connected(port) as (reader, writer):
        if sent.startswith(GET):
            writer.write(GET)
            await one_answer(reader)
            sent = sent.removeprefix(GET)
        writer.write(sent)
        answer = await everything(reader)
    assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert b"\r\ncontent-type: application/problem+json\r\n" in answer
    assert b"\r\nconnection: close\r\n" in answer
    assert body_of(answer)["type"] == "/problems/invalid-http"
    assert b"\r\nx-request-id: %b\r\n" % str(body_of(answer)["request_id"]).encode() in answer


FULL = 50_000_000  # more than the kernel holds on its way, on both sides
ENOUGH = 500_000_000


class Pouring:
    """An application whose answer has no end."""

    def __init__(self) -> None:
        self.sent = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while self.sent < ENOUGH:
            await send({"type": "http.response.body", "body": b"x" * 65_536, "more_body": True})
            self.sent += 65_536
            await asyncio.sleep(0)


async def until_it_rests(pouring: Pouring) -> None:
    seen = -1
    while seen != (seen := pouring.sent) or not seen:  # noqa: ASYNC110
        await asyncio.sleep(0.2)


@pytest.mark.e2e  # it takes long
async def test_an_unread_answer_pauses_and_is_aborted_after_a_timeout() -> None:
    pouring = Pouring()
    limits = dataclasses.replace(LIMITS, reader_seconds=3.0)
    async with served(pouring, limits) as port, connected(port) as (_, writer):
        writer.write(GET)  # and nothing is read, beyond what the streams of asyncio read by themselves
        await until_it_rests(pouring)
        held = pouring.sent
        assert 65_536 <= held < FULL
        await asyncio.sleep(1.0)
        assert pouring.sent == held
        since = time.perf_counter()
        while pouring.sent < ENOUGH and time.perf_counter() - since < IN_TIME:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        assert pouring.sent >= ENOUGH  # the client has disconnected: uvicorn accepts everything, and drops it


@pytest.mark.e2e  # it takes long
async def test_an_answer_that_is_read_slowly_is_produced_slowly() -> None:
    pouring = Pouring()
    limits = dataclasses.replace(LIMITS, reader_seconds=1.0)
    async with served(pouring, limits) as port, connected(port) as (reader, writer):
        writer.write(GET)
        taken = 0
        for _ in range(100):  # for three times as long as a client may take nothing
            taken += len(await asyncio.wait_for(reader.readexactly(100_000), IN_TIME))
            await asyncio.sleep(0.03)
        assert taken <= pouring.sent < taken + FULL
