"""Open loops: requests at a constant rate, and NDJSON streams that are written while answers are read."""

import asyncio
import time
from collections import deque
from itertools import cycle
from typing import cast

from load_tests.harness.answers import BadAnswer, HttpReader
from load_tests.harness.closed_loop import Unique
from load_tests.harness.jobs import ConstantRate, Done, Request, Streaming, pack

TICK_SECONDS = 0.001
PATIENCE_SECONDS = 20.0
LAST_CHUNK = b"0\r\n\r\n"


class Kind:
    """One kind of request, with its connections."""

    def __init__(self, requests: list[Request], job: ConstantRate) -> None:
        self.job = job
        self._requests = cycle(requests)
        self._data = Unique().data
        self.idle: list[Connection] = []
        self.waiting: deque[tuple[float, bytes]] = deque()
        self.latencies: list[float] = []
        self.sent = 0
        self.failure: Exception | None = None

    def send_due(self, now: float, elapsed: float) -> None:
        """Send the requests that are due; one without a free connection waits, and its wait counts."""
        due = int(elapsed * self.job.per_second)
        for _ in range(self.sent, due):
            self.waiting.append((now, self._data(next(self._requests))))
        self.sent = max(self.sent, due)
        while self.waiting and self.idle:
            self.idle.pop().send(*self.waiting.popleft())


class Connection(asyncio.Protocol):
    """Sends one request at a time."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self._reader = HttpReader()
        self._since = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Become free for requests."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's transports do not inherit from it
        self._kind.idle.append(self)

    def send(self, since: float, request: bytes) -> None:
        """Send a request that was due at that moment."""
        self._since = since
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        """Note the latency; send what waits."""
        try:
            answer = self._reader.read(data)
        except BadAnswer as error:
            self._kind.failure = error
            return
        if answer is None:
            return
        if answer.count(self._kind.job.mark) != 1:
            self._kind.failure = BadAnswer(answer)
        self._kind.latencies.append(time.perf_counter() - self._since)
        if self._kind.waiting:
            self.send(*self._kind.waiting.popleft())
        else:
            self._kind.idle.append(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """An error before the end of the run."""
        self._kind.failure = self._kind.failure or exc or ConnectionError("the server closed a connection")


async def run_at_rate(job: ConstantRate) -> Done:
    """Send at the rate, then wait for the last answers."""
    loop = asyncio.get_running_loop()
    kinds = {name: Kind(requests, job) for name, requests in job.kinds.items()}
    for kind in kinds.values():
        for _ in range(job.connections):
            await loop.create_connection(lambda kind=kind: Connection(kind), "127.0.0.1", job.port)  # type: ignore[misc] # mypy cannot infer the default
    started, worked, elapsed = time.perf_counter(), time.process_time(), 0.0
    while elapsed < job.seconds or any(len(kind.latencies) < kind.sent for kind in kinds.values()):
        await asyncio.sleep(TICK_SECONDS)
        now = time.perf_counter()
        elapsed = now - started
        if elapsed > job.seconds + PATIENCE_SECONDS:
            raise TimeoutError(f"answers did not come within {PATIENCE_SECONDS:g} s")
        for kind in kinds.values():
            if kind.failure is not None:
                raise kind.failure
            kind.send_due(now, min(elapsed, job.seconds))
    elapsed, worked = time.perf_counter() - started, time.process_time() - worked
    answers = sum(len(kind.latencies) for kind in kinds.values())
    return Done(answers, elapsed, elapsed, worked, pack({name: kind.latencies for name, kind in kinds.items()}))


class Stream(asyncio.Protocol):
    """One long request. It writes only while the transport has room: that is the client's back-pressure."""

    def __init__(self, job: Streaming, begin: float, offset: int) -> None:
        self._job = job
        self._begin, self._end = begin, begin + job.seconds
        self._blocks = cycle(job.blocks[offset:] + job.blocks[:offset])
        self._may_write = True
        self._has_ended = False
        self._received: list[bytes] = []
        self._last = b""
        self.lines = 0  # within the measured time
        self.sent_blocks = 0
        self.over: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the head and the first blocks."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's transports do not inherit from it
        self._transport.write(self._job.head)
        self._write()

    def pause_writing(self) -> None:
        """Stop while the transport's buffer is full."""
        self._may_write = False

    def resume_writing(self) -> None:
        """Go on."""
        self._may_write = True
        self._write()

    def data_received(self, data: bytes) -> None:
        """Count lines; their content is checked after the run."""
        if self._begin <= time.perf_counter() <= self._end:
            self.lines += (self._last + data).count(b"}\n")
        self._last = data[-1:]
        self._received.append(data)
        if data.endswith(LAST_CHUNK) and not self.over.done():
            self.over.set_result(b"".join(self._received))
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """An error before the last chunk."""
        if not self.over.done():
            self.over.set_exception(exc or BadAnswer(b"".join(self._received)[-1000:]))

    def _write(self) -> None:
        while self._may_write and not self._has_ended:
            if time.perf_counter() < self._end:
                self._transport.write(next(self._blocks))
                self.sent_blocks += 1
            else:
                self._has_ended = True
                self._transport.write(LAST_CHUNK)


async def run_streams(job: Streaming) -> Done:
    """Stream until the time is over; every line must get its answer."""
    loop = asyncio.get_running_loop()
    started, worked = time.perf_counter(), time.process_time()
    streams = [Stream(job, started + job.warm_up_seconds, offset) for offset in range(job.connections)]
    for stream in streams:
        await loop.create_connection(lambda stream=stream: stream, "127.0.0.1", job.port)  # type: ignore[misc] # mypy cannot infer the default
    bodies = await asyncio.gather(*(stream.over for stream in streams))
    elapsed, worked = time.perf_counter() - started, time.process_time() - worked
    lines = job.blocks[0].count(b"}\n")
    for stream, body in zip(streams, bodies, strict=True):
        if body[9:12] != b"200" or body.count(job.mark) != stream.sent_blocks * lines:
            raise BadAnswer(body)
    return Done(sum(stream.lines for stream in streams), job.seconds, elapsed, worked, {})
