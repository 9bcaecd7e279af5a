"""Bodies that stall, drip or never end, over real sockets."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator

import pytest

from app.api.fast_path.http import MIN_BYTES_PER_SECOND
from tests.api.conftest import LIMITS as REQUEST_LIMITS
from tests.api.conftest import new_app, new_backend
from tests.api.fake_pending import FakePending
from tests.api.fakes import FakeTenants
from tests.server.connections import ASKED, IN_TIME, SOON, body_of, connected, dripped, everything, served

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

LINE = b'{"tenant":"acme","features":{"a":1},"label":1}\n'


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": True}  # as the service has it


@pytest.fixture
async def hasty_port(tenants: FakeTenants, pending: FakePending) -> AsyncIterator[int]:
    """A service that limits the whole body, and not the time between its parts."""
    limits = dataclasses.replace(REQUEST_LIMITS, body_seconds=SOON)
    async with served(new_app(new_backend(tenants, pending, limits=limits))) as port:
        yield port


@pytest.mark.parametrize("begin", [b"", ASKED[:10]])
async def test_a_body_that_stalls_gets_408(port: int, begin: bytes) -> None:
    async with connected(port) as (reader, writer):
        writer.write(b"POST /predict HTTP/1.1\r\nhost: x\r\ncontent-length: 49\r\n\r\n" + begin)
        answer = await everything(reader)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"connection: close\r\n" in answer
    assert body_of(answer)["type"] == "/problems/too-slow"
    assert body_of(answer)["detail"] == "no part of the body has arrived for 0.3 seconds (SLUICE_BODY_IDLE_SECONDS)"


async def test_a_slow_body_that_progresses_is_accepted(port: int) -> None:
    async with connected(port) as (reader, writer):
        writer.write(b"POST /predict HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % len(ASKED))
        for start in range(0, len(ASKED), 10):
            await asyncio.sleep(SOON / 3)
            writer.write(ASKED[start : start + 10])
        assert (await asyncio.wait_for(reader.readline(), IN_TIME)).startswith(b"HTTP/1.1 200")


async def test_a_body_that_never_ends_gets_408_though_it_progresses(hasty_port: int) -> None:
    async with connected(hasty_port) as (reader, writer):
        writer.write(b"POST /predict HTTP/1.1\r\nhost: x\r\ncontent-length: 10000\r\n\r\n")
        ending = asyncio.create_task(everything(reader))
        await dripped(writer, [b" "] * 100, SOON / 10)
        answer = await ending
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"connection: close\r\n" in answer
    assert body_of(answer)["type"] == "/problems/too-slow"
    assert "SLUICE_BODY_SECONDS" in str(body_of(answer)["detail"])


async def test_a_large_body_has_time_in_proportion_to_its_size(hasty_port: int) -> None:
    body = ASKED.ljust(MIN_BYTES_PER_SECOND)  # gives it a second more
    async with connected(hasty_port) as (reader, writer):
        writer.write(b"POST /predict HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % len(body) + body[:-1])
        await asyncio.sleep(2 * SOON)
        writer.write(body[-1:])
        assert (await asyncio.wait_for(reader.readline(), IN_TIME)).startswith(b"HTTP/1.1 200")


async def test_a_stream_of_lines_may_take_longer_than_a_body(hasty_port: int) -> None:
    head = b"POST /predict/batch HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-ndjson\r\nconnection: close\r\n"
    line = b'{"tenant":"acme","features":{"a":1}}\n'
    async with connected(hasty_port) as (reader, writer):
        writer.write(head + b"content-length: %d\r\n\r\n" % (5 * len(line)))
        await dripped(writer, [line] * 5, SOON / 2)
        assert (await everything(reader)).count(b'"label":') == 5


async def test_a_stream_of_lines_that_stalls_ends_with_the_last_whole_line(port: int, tenants: FakeTenants) -> None:
    head = (
        b"POST /feedback/batch HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-ndjson\r\ntransfer-encoding: chunked"
    )
    async with connected(port) as (reader, writer):
        lines = LINE * 2 + LINE[:10]
        writer.write(head + b"\r\n\r\n%x\r\n%b\r\n" % (len(lines), lines))
        answer = await everything(reader)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.count(b'"version":') == 2
    assert answer.endswith(b"0\r\n\r\n")  # its end, and not a break
    assert tenants.tenants["acme"].state.version == 2
