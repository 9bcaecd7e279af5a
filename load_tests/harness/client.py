"""The client: jobs in a process of its own, single requests, and a pool of kept connections."""

import asyncio
import subprocess
import sys
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException

import msgspec
import uvloop

from load_tests.harness import closed_loop, open_loop
from load_tests.harness.answers import length_of
from load_tests.harness.jobs import ClosedLoop, ConstantRate, Done, Job, NdjsonStream

TIMEOUT_SECONDS = 60.0
POOL_TIMEOUT_SECONDS = 15.0
GRACE_SECONDS = 60.0
UNTIMED_SECONDS = 900.0  # the slowest contender takes minutes for its turn
JSON = "application/json"


def run(job: Job) -> Done:
    """Run a job in a new process."""
    answer = subprocess.run(  # noqa: S603 - our own module
        [sys.executable, "-m", __name__],
        input=msgspec.msgpack.encode(job),
        stdout=subprocess.PIPE,
        check=True,
        timeout=job.seconds + GRACE_SECONDS if job.seconds else UNTIMED_SECONDS,
        start_new_session=True,  # Ctrl-C goes to the benchmark, which then ends the client
    )
    return msgspec.msgpack.decode(answer.stdout, type=Done)


async def perform(job: Job) -> Done:
    """Run a job in this process."""
    match job:
        case ClosedLoop():
            return await closed_loop.run(job)
        case ConstantRate():
            return await open_loop.run_at_rate(job)
        case NdjsonStream():
            return await open_loop.run_streams(job)


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
        shown = response.body[:500].decode(errors="replace")
        raise RuntimeError(f"{method} {path} was answered {response.status}: {shown}")
    return response.body


class Pool:
    """Kept connections to one port, for asynchronous clients. Sends nothing twice."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def send(self, method: str, path: str, body: bytes = b"") -> Response:
        """Send one request on a free connection, or a new one; OSError or EOFError without an answer."""
        fields = f"host: sluice\r\ncontent-type: {JSON}\r\ncontent-length: {len(body)}"
        request = f"{method} {path} HTTP/1.1\r\n{fields}\r\n\r\n".encode() + body
        writer = None
        try:
            async with asyncio.timeout(POOL_TIMEOUT_SECONDS):  # a TimeoutError is an OSError
                kept = self._idle.pop() if self._idle else None
                reader, writer = kept or await asyncio.open_connection("127.0.0.1", self._port)
                writer.write(request)
                answer = (await reader.readuntil(b"\r\n\r\n")).lower()
                found = await reader.readexactly(length_of(answer))
        except BaseException:
            if writer is not None:
                writer.close()
            raise
        if b"connection: close" in answer:
            writer.close()
        else:
            self._idle.append((reader, writer))
        return Response(int(answer[9:12]), found)

    def close(self) -> None:
        """Close the free connections; the pool opens new ones when needed."""
        for _, writer in self._idle:
            writer.close()
        self._idle.clear()


def _main() -> None:
    job = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=Job)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        found = runner.run(perform(job))
    sys.stdout.buffer.write(msgspec.msgpack.encode(found))


if __name__ == "__main__":
    _main()
