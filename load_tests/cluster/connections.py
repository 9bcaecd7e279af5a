"""Asking a service over connections that are kept, many at once."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

import msgspec

TIMEOUT_SECONDS = 15.0
NO_ANSWER = 0  # in the place of a status
LENGTH = b"content-length: "

Item = TypeVar("Item")
Result = TypeVar("Result")
Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, from whom, and when; the status is 0 if nothing came."""

    service: str
    status: int
    body: bytes
    at: float  # when it was asked
    seconds: float

    def read(self, kind: type[Result]) -> Result:
        """The body of an answer that must be good: anything but 200 ends the simulation."""
        if self.status != 200:
            raise RuntimeError(f"service {self.service} answered {self.status}: {self.body[:500].decode()}")
        return msgspec.json.decode(self.body, type=kind)


class Connections:
    """To one service."""

    def __init__(self, service: str, port: int) -> None:
        self.service = service
        self._port = port
        self._idle: list[Stream] = []

    async def ask(self, method: str, path: str, body: bytes = b"") -> Answer:
        """Ask once, whatever happens; nothing is sent twice."""
        begin = time.perf_counter()
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                status, found = await self._asked(_request(method, path, body))
        except (OSError, EOFError, TimeoutError):
            status, found = NO_ANSWER, b""
        return Answer(self.service, status, found, begin, time.perf_counter() - begin)

    async def _asked(self, request: bytes) -> tuple[int, bytes]:
        stream = self._idle.pop() if self._idle else await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = stream
        try:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            body = await reader.readexactly(_length(head))
        except BaseException:
            writer.close()
            raise
        self._idle.append(stream)
        return int(head[9:12]), body

    def close(self) -> None:
        """Close all that are open; they may be used again, on new ones."""
        for _, writer in self._idle:
            writer.close()
        self._idle.clear()


async def each(
    items: Iterable[Item], work: Callable[[Item], Awaitable[Result]], at_once: int = 8
) -> dict[Item, Result]:
    """Do the same for every item, some of them at the same time."""
    waiting, found = iter(items), {}

    async def some() -> None:
        for item in waiting:
            found[item] = await work(item)

    async with asyncio.TaskGroup() as group:
        for _ in range(at_once):
            group.create_task(some())
    return found


def _request(method: str, path: str, body: bytes) -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nhost: sluice\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


def _length(head: bytes) -> int:
    at = head.find(LENGTH)
    if at < 0:
        raise ConnectionError("an answer without its length")
    start = at + len(LENGTH)
    return int(head[start : head.index(b"\r", start)])
