"""Connections that each ask, wait, and ask again."""

import asyncio
import secrets
import time
from itertools import count
from typing import cast

from load_tests.service.http_answers import Answers, BadAnswer
from load_tests.service.jobs import UNIQUE_BYTES, ClosedLoop, Done, Request, pack


class Asked:
    """Requests in turn, made unique where they have to be."""

    def __init__(self, requests: list[Request]) -> None:
        self._requests = requests
        self._prefix = secrets.token_hex(5).encode()
        self._numbers = count()

    def request(self) -> bytes:
        """The next one."""
        number = next(self._numbers)
        request = self._requests[number % len(self._requests)]
        if not request.tail:
            return request.head
        return request.head + self._prefix + b"%0*d" % (UNIQUE_BYTES - len(self._prefix), number) + request.tail


class Run:
    """What all connections share."""

    def __init__(self, job: ClosedLoop) -> None:
        self.job = job
        self.asked = Asked(job.requests)
        self.left = len(job.requests) if not job.seconds else None
        self.begin = time.perf_counter() + (job.warm_up_seconds if job.seconds else 0.0)
        self.end = self.begin + job.seconds
        self.latencies: list[float] = []
        self.open = job.connections
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def next_request(self, now: float) -> bytes | None:
        """None if there is nothing more to ask."""
        if self.left is None:
            return self.asked.request() if now < self.end else None
        self.left -= 1
        return self.asked.request() if self.left >= 0 else None

    def counts(self, now: float) -> bool:
        """Whether an answer of this moment is one of those to count."""
        return self.left is not None or self.begin <= now <= self.end

    def ended(self, error: Exception | None = None) -> None:
        """A connection has ended."""
        self.open -= 1
        if error is not None and not self.over.done():
            self.over.set_exception(error)
        elif self.open == 0 and not self.over.done():
            self.over.set_result(None)


class Asking(asyncio.Protocol):
    """One connection."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._answers = Answers(run.job.mark, run.job.marks)
        self._sent = 0.0
        self._waiting = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the first time."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are none by name
        self._ask(time.perf_counter())

    def data_received(self, data: bytes) -> None:
        """Measure, and ask again."""
        try:
            if not self._answers.is_whole(data):
                return
        except BadAnswer as error:
            self._run.ended(error)
            return
        now = time.perf_counter()
        if self._run.counts(now):
            self._run.latencies.append(now - self._sent)
        self._ask(now)

    def connection_lost(self, exc: Exception | None) -> None:
        """Only good when there was nothing more to ask."""
        self._run.ended(exc or (ConnectionError("the server closed a connection") if self._waiting else None))

    def _ask(self, now: float) -> None:
        request = self._run.next_request(now)
        self._waiting = request is not None
        if request is None:
            self._transport.close()
            return
        self._sent = time.perf_counter()
        self._transport.write(request)


async def run(job: ClosedLoop) -> Done:
    """Ask until the time is over, or everything was asked once."""
    loop, shared = asyncio.get_running_loop(), Run(job)
    started, worked = time.perf_counter(), time.process_time()
    for _ in range(job.connections):
        await loop.create_connection(lambda: Asking(shared), "127.0.0.1", job.port)
    await shared.over
    elapsed, worked = time.perf_counter() - started, time.process_time() - worked
    return Done(len(shared.latencies), job.seconds or elapsed, elapsed, worked, pack({"": shared.latencies}))
