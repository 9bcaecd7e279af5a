"""NDJSON streams: lines go out in blocks as fast as the connection takes them, and answers come back meanwhile."""

import asyncio
import time
from itertools import cycle
from typing import cast

from load_tests.service.http_answers import BadAnswer
from load_tests.service.jobs import Done, Streaming, pack

LAST_CHUNK = b"0\r\n\r\n"


class Window:
    """The time that counts."""

    def __init__(self, job: Streaming) -> None:
        self.begin = time.perf_counter() + job.warm_up_seconds
        self.end = self.begin + job.seconds
        self.lines = 0

    def count(self, lines: int) -> None:
        """Lines that have just arrived."""
        if self.begin <= time.perf_counter() <= self.end:
            self.lines += lines


class Stream(asyncio.Protocol):
    """One request that lasts. It writes only while the transport has room: that is the client's back-pressure."""

    def __init__(self, job: Streaming, window: Window, offset: int) -> None:
        self._job = job
        self._window = window
        self._blocks = cycle(job.blocks[offset:] + job.blocks[:offset])
        self._may_write = True
        self._has_ended = False
        self._received: list[bytes] = []
        self._last = b""
        self.sent_blocks = 0
        self.over: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the head and the first blocks."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are none by name
        self._transport.write(self._job.head)
        self._write()

    def pause_writing(self) -> None:
        """The transport's buffer is full."""
        self._may_write = False

    def resume_writing(self) -> None:
        """There is room again."""
        self._may_write = True
        self._write()

    def data_received(self, data: bytes) -> None:
        """Count lines. What they say is looked at afterwards."""
        self._window.count((self._last + data).count(b"}\n"))
        self._last = data[-1:]
        self._received.append(data)
        if data.endswith(LAST_CHUNK) and not self.over.done():
            self.over.set_result(b"".join(self._received))
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Only good after the last chunk."""
        if not self.over.done():
            self.over.set_exception(exc or BadAnswer(b"".join(self._received)[-1000:].decode(errors="replace")))

    def _write(self) -> None:
        while self._may_write and not self._has_ended:
            if time.perf_counter() < self._window.end:
                self._transport.write(next(self._blocks))
                self.sent_blocks += 1
            else:
                self._has_ended = True
                self._transport.write(LAST_CHUNK)


async def run(job: Streaming) -> Done:
    """Stream until the time is over; every line must have got its answer."""
    loop, window = asyncio.get_running_loop(), Window(job)
    started, worked = time.perf_counter(), time.process_time()
    streams = [Stream(job, window, offset) for offset in range(job.connections)]
    for stream in streams:
        await loop.create_connection(lambda stream=stream: stream, "127.0.0.1", job.port)  # type: ignore[misc]
    bodies = await asyncio.gather(*(stream.over for stream in streams))
    elapsed, worked = time.perf_counter() - started, time.process_time() - worked
    lines = job.blocks[0].count(b"}\n")
    for stream, body in zip(streams, bodies, strict=True):
        if body[9:12] != b"200" or body.count(job.mark) != stream.sent_blocks * lines:
            raise BadAnswer(body[:1000].decode(errors="replace"))
    return Done(window.lines, job.seconds, elapsed, worked, pack({"": []}))
