"""The closed loop: connections, or processes, that each send a request, wait for the answer, and send the next."""

import asyncio
import secrets
import subprocess
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import cast

from load_tests.harness.answers import VERDICTS, BadAnswer, HttpReader, LineReader
from load_tests.harness.jobs import UNIQUE_BYTES, ClosedLoop, Done, Request, pack

LARGEST_VERDICT = 3  # exit codes of a mail filter: spam, ham, unsure, and no word list yet


class Unique:
    """Makes the bytes of requests, with a unique id where one is due."""

    def __init__(self) -> None:
        self._prefix = secrets.token_hex(5).encode()
        self._numbers = count()

    def data(self, request: Request) -> bytes:
        """The bytes to send."""
        if not request.tail:
            return request.head
        number = b"%0*d" % (UNIQUE_BYTES - len(self._prefix), next(self._numbers))
        return request.head + self._prefix + number + request.tail


class Run:
    """What all connections share.

    A timed run ends when the time is over and there are as many answers as connections: a server that is slower than
    the given time is measured too, over the time that it needs.
    """

    def __init__(self, job: ClosedLoop) -> None:
        self.job = job
        self.data = Unique().data
        self._started, self._worked = time.perf_counter(), time.process_time()
        self._begin = self._started + (job.warm_up_seconds if job.seconds else 0.0)
        self._end = self._begin + job.seconds
        self._last = self._begin  # when the last counted answer came
        self._next = 0
        self._answers = 0
        self._latencies: dict[str, list[float]] = defaultdict(list)
        self._verdicts: list[bool] = []

    def next_request(self) -> Request | None:
        """The next request; None at the end."""
        requests, number = self.job.requests, self._next
        if not self._lasts(time.perf_counter()) if self.job.seconds else number >= len(requests):
            return None
        self._next += 1
        return requests[number % len(requests)]

    def answered(self, request: Request, answer: bytes, sent: float) -> None:
        """Check an answer; note its latency and its verdicts."""
        job, now = self.job, time.perf_counter()
        if job.marks and answer.count(job.mark) != job.marks:
            raise BadAnswer(answer)
        if request.judged:
            found = VERDICTS[job.verdict](answer)  # read also where not kept: an answer must state one
            if not job.seconds:
                self._verdicts += found
        if not job.seconds or (now >= self._begin and self._lasts(now)):
            self._last = now
            self._answers += 1
            self._latencies[request.kind].append(now - sent)

    def _lasts(self, now: float) -> bool:
        return now < self._end or self._answers < self.job.connections

    def done(self) -> Done:
        """The result, after every connection has ended."""
        elapsed, worked = time.perf_counter() - self._started, time.process_time() - self._worked
        seconds = max(self.job.seconds, self._last - self._begin) if self.job.seconds else elapsed
        return Done(self._answers, seconds, elapsed, worked, pack(self._latencies), bytes(self._verdicts))


class Connection(asyncio.Protocol):
    """One connection."""

    def __init__(self, run: Run, reader: HttpReader | LineReader, request: Request) -> None:
        self._run, self._reader = run, reader
        self._request: Request | None = request
        self._sent = time.perf_counter()  # before it is open: a server that closes connections pays for new ones
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's transports do not inherit from it
        assert self._request is not None
        self._transport.write(self._run.data(self._request))

    def data_received(self, data: bytes) -> None:
        if self._request is None:
            return
        try:
            answer = self._reader.read(data)
            if answer is None:
                return
            self._run.answered(self._request, answer, self._sent)
        except (BadAnswer, ValueError, IndexError) as error:
            self._end(error)
            return
        self._request = None if self._reader.closes else self._run.next_request()
        if self._request is None:
            self._end()
            return
        request = self._run.data(self._request)
        self._sent = time.perf_counter()
        self._transport.write(request)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._request is not None:
            self._end(exc or ConnectionError("the server closed a connection"))

    def _end(self, error: Exception | None = None) -> None:
        self._request = None
        self._transport.close()
        if not self.over.done():
            self.over.set_exception(error) if error else self.over.set_result(None)


async def run(job: ClosedLoop) -> Done:
    """Run until the time is over, or every request was sent once."""
    shared = Run(job)
    if job.wire == "programs":
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(job.connections) as threads:
            await asyncio.gather(*(loop.run_in_executor(threads, _execute, shared) for _ in range(job.connections)))
    else:
        await asyncio.gather(*(_connect(shared) for _ in range(job.connections)))
    return shared.done()


async def _connect(run: Run) -> None:
    """Open one connection; another one whenever the server closes it after an answer."""
    while (request := run.next_request()) is not None:
        connection = Connection(run, HttpReader() if run.job.wire == "http" else LineReader(), request)
        await asyncio.get_running_loop().create_connection(
            lambda connection=connection: connection,  # type: ignore[misc] # mypy cannot infer the default
            "127.0.0.1",
            run.job.port,
        )
        await connection.over


def _execute(run: Run) -> None:
    """A process for every request, as a mail filter runs: the first line is the command, the rest its input."""
    while (request := run.next_request()) is not None:
        sent = time.perf_counter()
        command, _, given = request.head.partition(b"\n")
        done = subprocess.run(  # noqa: S603 - a contender's own command
            command.decode().split(), cwd=run.job.folder, input=given, capture_output=True, check=False
        )
        if not 0 <= done.returncode <= LARGEST_VERDICT:
            raise BadAnswer(b"%b returned %d: %b" % (command, done.returncode, done.stderr))
        run.answered(request, done.stdout, sent)
