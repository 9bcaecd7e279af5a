"""Open loops: requests at a constant rate, and NDJSON streams that are written while answers are read."""

import asyncio
import time
from itertools import cycle

from load_tests.harness.answers import BadAnswer, HttpReader
from load_tests.harness.closed_loop import Unique
from load_tests.harness.jobs import ConstantRate, Done, NdjsonStream, Request, pack

PATIENCE_SECONDS = 20.0
BUFFER_BYTES = 1 << 18
WRITE_AHEAD_BYTES = 1 << 20  # some blocks: the server never waits for the client
LAST_CHUNK = b"0\r\n\r\n"

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Due = asyncio.Queue[tuple[float, bytes] | None]  # when it was due, and its bytes; None at the end


async def run_at_rate(job: ConstantRate) -> Done:
    """Send at the rate, then wait for the last answers. The wait for a free connection counts."""
    latencies: dict[str, list[float]] = {kind: [] for kind in job.kinds}
    opened = {kind: [await _connect(job.port) for _ in range(job.connections)] for kind in job.kinds}
    started, worked = time.perf_counter(), time.process_time()
    async with asyncio.timeout(job.seconds + PATIENCE_SECONDS), asyncio.TaskGroup() as group:
        for kind, requests in job.kinds.items():
            due: Due = asyncio.Queue()
            group.create_task(_schedule(job, requests, due, started))
            for connection in opened[kind]:
                group.create_task(_serve(connection, due, job.mark, latencies[kind]))
    elapsed, worked = time.perf_counter() - started, time.process_time() - worked
    return Done(sum(map(len, latencies.values())), elapsed, elapsed, worked, pack(latencies))


async def _schedule(job: ConstantRate, requests: list[Request], due: Due, started: float) -> None:
    data, sources = Unique().data, cycle(requests)
    for number in range(1, int(job.seconds * job.per_second) + 1):
        await asyncio.sleep(started + number / job.per_second - time.perf_counter())
        due.put_nowait((time.perf_counter(), data(next(sources))))
    for _ in range(job.connections):
        due.put_nowait(None)


async def _serve(connection: Connection, due: Due, mark: bytes, latencies: list[float]) -> None:
    (stream, writer), reader = connection, HttpReader()
    while (item := await due.get()) is not None:
        since, request = item
        writer.write(request)
        while (answer := reader.read(await _received(stream))) is None:
            pass
        if answer.count(mark) != 1:
            raise BadAnswer(answer)
        latencies.append(time.perf_counter() - since)
    writer.close()


async def run_streams(job: NdjsonStream) -> Done:
    """Stream until the time is over; every line must get its answer."""
    started, worked = time.perf_counter(), time.process_time()
    begin = started + job.warm_up_seconds
    lines = await asyncio.gather(*(_stream(job, begin, offset) for offset in range(job.connections)))
    elapsed, worked = time.perf_counter() - started, time.process_time() - worked
    return Done(sum(lines), job.seconds, elapsed, worked, {})


async def _stream(job: NdjsonStream, begin: float, offset: int) -> int:
    """One long request; returns the lines that were answered within the measured time."""
    stream, writer = await _connect(job.port)
    writer.transport.set_write_buffer_limits(WRITE_AHEAD_BYTES)

    async def write() -> int:
        writer.write(job.head)
        sent, blocks = 0, cycle(job.blocks[offset:] + job.blocks[:offset])
        while time.perf_counter() < begin + job.seconds:
            writer.write(next(blocks))
            await writer.drain()  # the client's back-pressure
            sent += 1
        writer.write(LAST_CHUNK)
        return sent

    sending = asyncio.create_task(write())
    received, end, lines = [], b"", 0
    while end != LAST_CHUNK:
        received.append(await _received(stream))
        if begin <= time.perf_counter() <= begin + job.seconds:
            lines += (end[-1:] + received[-1]).count(b"}\n")
        end = (end + received[-1])[-len(LAST_CHUNK) :]
    sent, body = await sending, b"".join(received)
    writer.close()
    if body[9:12] != b"200" or body.count(job.mark) != sent * job.blocks[0].count(b"}\n"):
        raise BadAnswer(body)
    return lines


async def _connect(port: int) -> Connection:
    return await asyncio.open_connection("127.0.0.1", port)


async def _received(stream: asyncio.StreamReader) -> bytes:
    if data := await stream.read(BUFFER_BYTES):
        return data
    raise ConnectionError("the server closed a connection")
