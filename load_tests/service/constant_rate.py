"""Requests that go out at a constant rate, whether the answers come or not."""

import asyncio
import time
from collections import deque
from typing import cast

from load_tests.service.closed_loop import Asked
from load_tests.service.http_answers import Answers, BadAnswer
from load_tests.service.jobs import ConstantRate, Done, Request, pack

TICK_SECONDS = 0.001
PATIENCE_SECONDS = 20.0


class Kind:
    """One kind of request, with its connections."""

    def __init__(self, requests: list[Request], job: ConstantRate) -> None:
        self.job = job
        self.asked = Asked(requests)
        self.idle: list[Connection] = []
        self.waiting: deque[tuple[float, bytes]] = deque()
        self.latencies: list[float] = []
        self.sent = 0
        self.failure: Exception | None = None

    def send_due(self, now: float, elapsed: float) -> None:
        """Send what should have gone by now; what finds no connection waits, and its waiting counts."""
        due = int(elapsed * self.job.per_second)
        for _ in range(self.sent, due):
            self.waiting.append((now, self.asked.request()))
        self.sent = max(self.sent, due)
        while self.waiting and self.idle:
            self.idle.pop().send(*self.waiting.popleft())

    @property
    def is_done(self) -> bool:
        """Whether everything sent was answered."""
        return len(self.latencies) == self.sent


class Connection(asyncio.Protocol):
    """Sends one request at a time."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self._answers = Answers(kind.job.mark, 1)
        self._since = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Be there for requests."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are none by name
        self._kind.idle.append(self)

    def send(self, since: float, request: bytes) -> None:
        """Send a request that was due at that moment."""
        self._since = since
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        """Measure, and go on with what waits."""
        try:
            if not self._answers.is_whole(data):
                return
        except BadAnswer as error:
            self._kind.failure = error
            return
        self._kind.latencies.append(time.perf_counter() - self._since)
        if self._kind.waiting:
            self.send(*self._kind.waiting.popleft())
        else:
            self._kind.idle.append(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Not before the end."""
        self._kind.failure = self._kind.failure or exc or ConnectionError("the server closed a connection")


async def run(job: ConstantRate) -> Done:
    """Send at the rate, then wait for the last answers."""
    kinds = {name: Kind(requests, job) for name, requests in job.kinds.items()}
    for kind in kinds.values():
        await _connect(kind, job)
    started, worked = time.perf_counter(), time.process_time()
    await _send_all(list(kinds.values()), job, started)
    elapsed, worked = time.perf_counter() - started, time.process_time() - worked
    answers = sum(len(kind.latencies) for kind in kinds.values())
    return Done(answers, elapsed, elapsed, worked, pack({name: kind.latencies for name, kind in kinds.items()}))


async def _connect(kind: Kind, job: ConstantRate) -> None:
    loop = asyncio.get_running_loop()
    for _ in range(job.connections):
        await loop.create_connection(lambda: Connection(kind), "127.0.0.1", job.port)


async def _send_all(kinds: list[Kind], job: ConstantRate, started: float) -> None:
    elapsed = 0.0
    while elapsed < job.seconds or not all(kind.is_done for kind in kinds):
        await asyncio.sleep(TICK_SECONDS)
        now = time.perf_counter()
        elapsed = now - started
        if elapsed > job.seconds + PATIENCE_SECONDS:
            raise TimeoutError(f"answers did not come within {PATIENCE_SECONDS:g} s")
        for kind in kinds:
            if kind.failure is not None:
                raise kind.failure
            kind.send_due(now, min(elapsed, job.seconds))
