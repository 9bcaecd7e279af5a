"""The loops of the client, in a process of its own: closed, and at a constant rate."""

import asyncio
import re
import secrets
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, closing
from functools import partial
from itertools import count, cycle
from tempfile import TemporaryFile

import msgspec
import uvloop

from load_tests.harness.client import BadAnswer, Connection
from load_tests.harness.jobs import UNIQUE_BYTES, ClosedLoop, ConstantRate, Done, Job, Request, Verdict, Wire

PREFIX, NUMBERS = secrets.token_hex(5).encode(), count()  # of unique ids
LARGEST_VERDICT = 3  # exit codes of a mail filter: spam, ham, unsure, and no word list yet
PATIENCE_SECONDS = 20.0
UNDECIDED = 0.5


async def perform(job: Job) -> Done:
    if not isinstance(job, ClosedLoop):
        return await run_at_rate(job)
    run = _Run(job)
    await asyncio.gather(*(run.connect() for _ in range(job.connections)))
    return run.done()


class _Run:
    """What all connections of a closed loop share. A timed run waits for as many answers as there are connections."""

    def __init__(self, job: ClosedLoop) -> None:
        self.job = job
        self._started, self._worked = time.perf_counter(), time.process_time()
        self._begin = self._started + (job.warm_up_seconds if job.seconds else 0.0)
        self._end = self._begin + job.seconds
        self._last = self._begin  # when the last counted answer came
        self._next = self._answers = 0
        self._latencies: dict[str, list[float]] = defaultdict(list)
        self._verdicts: list[bool] = []

    async def connect(self) -> None:
        with closing(Connection(self.job.port)) as connection:
            fetches: dict[Wire, Callable[[bytes], Awaitable[bytes]]] = {
                "http": connection.fetch,
                "lines": connection.fetch_line,
                "programs": partial(_execute, self.job.folder),
            }
            fetch = fetches[self.job.wire]
            while (request := self._next_request()) is not None:
                data = _data(request)
                sent = time.perf_counter()  # before it is open: a server that closes connections pays for new ones
                self._check(request, await fetch(data), sent)

    def _next_request(self) -> Request | None:
        requests, number = self.job.requests, self._next
        if not self._lasts(time.perf_counter()) if self.job.seconds else number >= len(requests):
            return None
        self._next += 1
        return requests[number % len(requests)]

    def _check(self, request: Request, answer: bytes, sent: float) -> None:
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
        elapsed, worked = time.perf_counter() - self._started, time.process_time() - self._worked
        seconds = max(self.job.seconds, self._last - self._begin) if self.job.seconds else elapsed
        return Done(self._answers, seconds, elapsed, worked, self._latencies, bytes(self._verdicts))


def _data(request: Request) -> bytes:
    """The bytes of a request, with a unique id where one is due."""
    if not request.tail:
        return request.head
    return b"%b%b%0*d%b" % (request.head, PREFIX, UNIQUE_BYTES - len(PREFIX), next(NUMBERS), request.tail)


async def _execute(folder: str, data: bytes) -> bytes:
    """A process for every request, as a mail filter runs: the first line is the command, the rest its input."""
    command, _, given = data.partition(b"\n")
    pipe = subprocess.PIPE
    with TemporaryFile(
        dir=folder, buffering=0
    ) as file:  # not a pipe: a filter that knows no word exits without reading
        file.write(given)
        file.seek(0)
        process = await asyncio.create_subprocess_exec(
            *command.split(), cwd=folder, stdin=file, stdout=pipe, stderr=pipe
        )
    answer, errors = await process.communicate()
    assert process.returncode is not None
    if not 0 <= process.returncode <= LARGEST_VERDICT:
        raise BadAnswer(b"%b returned %d: %b" % (command, process.returncode, errors))
    return answer


async def run_at_rate(job: ConstantRate) -> Done:
    """Send each kind at the rate, then wait for the last answers."""
    latencies: dict[str, list[float]] = {kind: [] for kind in job.kinds}
    sent: dict[str, list[float]] = {kind: [] for kind in job.kinds}
    started, worked = time.perf_counter(), time.process_time()
    async with asyncio.timeout(job.seconds + PATIENCE_SECONDS), asyncio.TaskGroup() as group:
        for kind, requests in job.kinds.items():
            group.create_task(_send_at_rate(job, requests, latencies[kind], sent[kind]))
    elapsed, worked = time.perf_counter() - started, time.process_time() - worked
    return Done(sum(map(len, latencies.values())), elapsed, elapsed, worked, latencies, sent=sent)


async def _send_at_rate(job: ConstantRate, requests: list[Request], latencies: list[float], sent: list[float]) -> None:
    free: asyncio.Queue[Connection] = asyncio.Queue()

    async def send(request: Request, due: float) -> None:
        sent_at = time.monotonic()
        connection = await free.get()  # the wait for a free one counts
        answer = await connection.fetch(_data(request))
        if answer.count(job.mark) != 1:
            raise BadAnswer(answer)
        latencies.append(time.perf_counter() - due)
        sent.append(sent_at)
        free.put_nowait(connection)

    with ExitStack() as stack:
        for _ in range(job.connections):
            connection = stack.enter_context(closing(Connection(job.port)))
            await connection.open()
            free.put_nowait(connection)
        started, sources = time.perf_counter(), cycle(requests)
        async with asyncio.TaskGroup() as group:
            for number in range(1, int(job.seconds * job.per_second) + 1):
                await asyncio.sleep(started + number / job.per_second - time.perf_counter())
                group.create_task(send(next(sources), time.perf_counter()))


def _labels(name: bytes) -> Callable[[bytes], list[bool]]:
    pattern = re.compile(rb'"%b":(-?1)\b' % name)

    def read(answer: bytes) -> list[bool]:
        if not (found := pattern.findall(answer)):
            raise BadAnswer(answer)
        return [label == b"1" for label in found]

    return read


def _bayes(answer: bytes) -> list[bool]:
    """BAYES_SPAM among the symbols means: more likely spam than not."""
    if b'"symbols"' not in answer:
        raise BadAnswer(answer)
    return [b'"BAYES_SPAM"' in answer]


def _probability(answer: bytes) -> list[bool]:
    """Verdict and probability; nothing while there is no word list."""
    fields = answer.split()
    return [len(fields) > 1 and float(fields[1]) > UNDECIDED]


# Whether each example is an anomaly; no statement counts as normal.
VERDICTS: dict[Verdict, Callable[[bytes], list[bool]]] = {
    "label": _labels(b"label"),
    "predicted": _labels(b"predicted"),
    "sign": lambda answer: [float(answer.split()[0]) > 0.0],
    "bayes": _bayes,
    "probability": _probability,
}


if __name__ == "__main__":
    given = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=Job)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        sys.stdout.buffer.write(msgspec.msgpack.encode(runner.run(perform(given))))
