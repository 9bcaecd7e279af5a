"""An application served with the protocol of the service, and clients on real sockets."""

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, cast

import msgspec
import uvicorn

from app.server.connection_limits import ConnectionLimits, RefusalDelay
from app.server.protocol import LimitedProtocol

SOON = 0.3  # seconds; what the limits are here
IN_TIME = 10.0  # generous: the machine may be busy
LIMITS = ConnectionLimits(head_seconds=SOON, max_head_bytes=2000, reader_seconds=SOON, max_connections=10_000)
GET = b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n"
ASKED = b'{"tenant":"acme","features":{"a":1},"keep":false}'
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@contextlib.asynccontextmanager
async def served(
    app: Callable[..., Any],
    limits: ConnectionLimits = LIMITS,
    idle_seconds: int = 60,
    delay: RefusalDelay | None = None,
) -> AsyncIterator[int]:
    held = delay or RefusalDelay()
    protocol = cast("type[asyncio.Protocol]", functools.partial(LimitedProtocol, limits=limits, delay=held))
    config = uvicorn.Config(
        app, port=0, loop="uvloop", http=protocol, log_level="critical", lifespan="off",
        timeout_keep_alive=idle_seconds, timeout_graceful_shutdown=1,
    )  # fmt: skip  # type: ignore[arg-type]
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 - the server has no event for it
        await asyncio.sleep(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        await serving


@contextlib.asynccontextmanager
async def connected(port: int) -> AsyncIterator[Streams]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def dripped(writer: asyncio.StreamWriter, drops: Iterable[bytes], pause_seconds: float) -> None:
    """Send drop by drop, as long as the other side listens."""
    for drop in drops:
        if writer.is_closing():
            return
        writer.write(drop)
        await asyncio.sleep(pause_seconds)


async def everything(reader: asyncio.StreamReader) -> bytes:
    """Return everything received until the other side closes."""
    received = bytearray()
    with contextlib.suppress(ConnectionError):
        while piece := await asyncio.wait_for(reader.read(65_536), IN_TIME):
            received += piece
    return bytes(received)


async def one_answer(reader: asyncio.StreamReader) -> bytes:
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), IN_TIME)
    length = next(line for line in head.split(b"\r\n") if line.startswith(b"content-length: "))
    return head + await asyncio.wait_for(reader.readexactly(int(length[16:])), IN_TIME)


def body_of(answer: bytes) -> dict[str, object]:
    found: dict[str, object] = msgspec.json.decode(answer.partition(b"\r\n\r\n")[2])
    return found
