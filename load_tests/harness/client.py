"""The client: jobs in a process of its own, single requests, and a pool of kept connections."""

import asyncio
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from typing import TypeVar

import msgspec

from app.storage.embedded.signals import held_back
from load_tests.harness.jobs import Done, Job

TIMEOUT_SECONDS = 60.0
POOL_TIMEOUT_SECONDS = 15.0
GRACE_SECONDS = 60.0
UNTIMED_SECONDS = 900.0  # the slowest contender takes minutes for its turn
JSON = "application/json"
SHOWN = 1000  # bytes of a bad answer

Found = TypeVar("Found")


def run(job: Job) -> Done:
    seconds = job.seconds + GRACE_SECONDS if job.seconds else UNTIMED_SECONDS
    return run_module("load_tests.harness.loops", job, Done, seconds)


def run_module(module: str, given: object, found: type[Found], seconds: float, python: str = sys.executable) -> Found:
    """Run a module that reads its input as msgpack, and writes what it found. A signal ends it, too."""
    command, pipe = [python, "-m", module], subprocess.PIPE
    with ExitStack() as stack:
        with held_back():
            process = stack.enter_context(subprocess.Popen(command, stdin=pipe, stdout=pipe, start_new_session=True))  # noqa: S603 - our own module
            stack.callback(process.kill)
        answer, _ = process.communicate(msgspec.msgpack.encode(given), seconds)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return msgspec.msgpack.decode(answer, type=found)


class BadAnswer(Exception):
    """An answer that is an error, or not what the request asks for."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data[:SHOWN].decode(errors="replace"))


@dataclass(frozen=True, slots=True)
class Response:
    """Status and body of an answer."""

    status: int
    body: bytes


def send(port: int, method: str, path: str, body: bytes = b"", content_type: str = JSON) -> Response:
    """Send one request on a connection of its own; OSError without an answer."""
    connection = HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS)
    try:
        connection.request(method, path, body or None, {"content-type": content_type})
        answer = connection.getresponse()
        return Response(answer.status, answer.read())
    except HTTPException as error:
        raise ConnectionError(str(error)) from error
    finally:
        connection.close()


def call(port: int, method: str, path: str, body: bytes = b"", content_type: str = JSON) -> bytes:
    """Send one request; any status but 200 ends the benchmark."""
    response = send(port, method, path, body, content_type)
    if response.status != 200:
        raise BadAnswer(b"%b was answered %d: %b" % (path.encode(), response.status, response.body))
    return response.body


class Connection:
    """A connection that opens with its first request, and again after the server has closed it."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._writer: asyncio.StreamWriter | None = None

    async def open(self) -> asyncio.StreamWriter:
        if self._writer is None:
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self._writer

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    async def send(self, request: bytes) -> Response:
        """Send a whole HTTP request; OSError or EOFError without an answer."""
        (await self.open()).write(request)
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        _, has_length, after = head.partition(b"content-length: ")
        if has_length:
            body = await self._reader.readexactly(int(after.partition(b"\r")[0]))
        elif b"transfer-encoding: chunked" in head:
            body = await self._chunks()
        else:
            raise BadAnswer(head)
        if b"connection: close" in head:
            self.close()
        return Response(int(head[9:12]), body)

    async def fetch(self, request: bytes) -> bytes:
        """Send a whole HTTP request; BadAnswer unless its status is 2xx."""
        response = await self.send(request)
        if response.status // 100 != 2:
            raise BadAnswer(b"%d: %b" % (response.status, response.body))
        return response.body

    async def fetch_line(self, request: bytes) -> bytes:
        """Send a line; return the line that answers it."""
        (await self.open()).write(request)
        return await self._reader.readuntil(b"\n")

    async def _chunks(self) -> bytes:
        parts = []
        while size := int(await self._reader.readuntil(b"\r\n"), 16):
            parts.append(await self._reader.readexactly(size))
            await self._reader.readexactly(2)
        await self._reader.readexactly(2)
        return b"".join(parts)


class Pool:
    """Kept connections to one port, for asynchronous clients. Sends nothing twice."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._idle: list[Connection] = []

    async def send(self, method: str, path: str, body: bytes = b"") -> Response:
        """Send one request on a free connection, or a new one; OSError or EOFError without an answer."""
        fields = f"host: sluice\r\ncontent-type: {JSON}\r\ncontent-length: {len(body)}"
        connection = self._idle.pop() if self._idle else Connection(self._port)
        try:
            async with asyncio.timeout(POOL_TIMEOUT_SECONDS):  # a TimeoutError is an OSError
                response = await connection.send(f"{method} {path} HTTP/1.1\r\n{fields}\r\n\r\n".encode() + body)
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)
        return response

    def close(self) -> None:
        """Close the free connections; the pool opens new ones when needed."""
        for connection in self._idle:
            connection.close()
