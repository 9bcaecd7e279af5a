"""The application on a real server with real sockets."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import httpx
import msgspec
import pytest
import uvicorn
from fastapi import FastAPI

from tests.api.fakes import FakeTenants

pytestmark = pytest.mark.anyio
LINE = b'{"tenant":"acme","features":{"a":1},"keep":false}\n'
LABEL = b'{"tenant":"acme","features":{"a":1},"label":1}\n'
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture
async def port(app: FastAPI) -> AsyncIterator[int]:
    config = uvicorn.Config(app, port=0, loop="uvloop", http="httptools", log_level="critical", lifespan="off")
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 - the server has no event for it
        await asyncio.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    await serving


@contextlib.asynccontextmanager
async def connected(port: int, path: str) -> AsyncIterator[Streams]:
    """A chunked NDJSON request whose body is still to come."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
    connection.setblocking(False)
    await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", port))
    reader, writer = await asyncio.open_connection(sock=connection)
    head = (
        f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-ndjson\r\ntransfer-encoding: chunked\r\n\r\n"
    )
    writer.write(head.encode())
    try:
        yield reader, writer
    finally:
        writer.transport.abort()  # also with something left to send


async def pour(writer: asyncio.StreamWriter) -> None:
    """Write without reading."""
    for _ in range(10_000):
        writer.write(chunk(LABEL * 100))
        await writer.drain()


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


async def test_an_answer_arrives_while_the_body_is_still_sent(port: int) -> None:
    async with connected(port, "/feedback/batch") as (reader, writer):
        for version in range(1, 4):
            writer.write(chunk(LABEL))
            line = await asyncio.wait_for(reader.readuntil(b"}\n"), 5)
            assert b'"version":%d' % version in line
        writer.write(b"0\r\n\r\n")
        await asyncio.wait_for(reader.readuntil(b"0\r\n\r\n"), 5)


async def test_a_client_that_does_not_read_is_not_read_from(port: int, tenants: FakeTenants) -> None:
    async with connected(port, "/feedback/batch") as (reader, writer):
        pouring = asyncio.create_task(pour(writer))
        learnt = -1
        while learnt != (learnt := tenants.tenants["acme"].state.version if tenants.tenants else 0):  # noqa: ASYNC110
            await asyncio.sleep(0.5)  # until both directions are full
        assert not pouring.done()
        assert 0 < learnt < 1_000_000
        assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
        pouring.cancel()


async def test_work_ends_when_the_client_disconnects(port: int, tenants: FakeTenants) -> None:
    async with connected(port, "/feedback/batch") as (reader, writer):
        writer.write(chunk(LABEL))
        await reader.readuntil(b"}\n")
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        assert (await client.get("/livez")).status_code == 200
    assert tenants.tenants["acme"].state.version == 1


async def test_many_lines_are_all_answered(port: int) -> None:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        headers = {"content-type": "application/x-ndjson"}
        answer = await client.post("/predict/batch", content=LINE * 2000, headers=headers)
    assert len(answer.content.splitlines()) == 2000
    assert {msgspec.json.decode(line)["label"] for line in answer.content.splitlines()} == {-1}


async def test_a_body_that_is_too_large_is_refused_and_the_connection_stays_open(port: int) -> None:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        assert (await client.post("/predict", content=b"x" * 30_000)).status_code == 413
        assert (await client.post("/predict", content=LINE)).status_code == 200


async def test_head_has_no_body(port: int) -> None:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        answer = await client.head("/livez")
    assert (answer.status_code, answer.content, answer.headers["content-length"]) == (200, b"", "18")


async def test_an_incomplete_body_gets_no_answer(port: int, tenants: FakeTenants) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"POST /feedback HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n" + LABEL)
    await writer.drain()
    writer.write_eof()
    assert await asyncio.wait_for(reader.read(), 5) == b""
    writer.close()
    assert not tenants.tenants
