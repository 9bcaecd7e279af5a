"""The client, in a process of its own: `done(job)` starts it and waits for what it found."""

import asyncio
import subprocess
import sys

import msgspec
import uvloop

from load_tests.service import closed_loop, constant_rate, streaming
from load_tests.service.jobs import ClosedLoop, ConstantRate, Done, Job, Streaming

GRACE_SECONDS = 40.0


def done(job: Job) -> Done:
    """Let a client do this."""
    command = [sys.executable, "-m", __name__]
    answer = subprocess.run(  # noqa: S603 - our own module
        command,
        input=msgspec.msgpack.encode(job),
        stdout=subprocess.PIPE,
        check=True,
        timeout=job.seconds + GRACE_SECONDS,
    )
    return msgspec.msgpack.decode(answer.stdout, type=Done)


async def _work(job: Job) -> Done:
    match job:
        case ClosedLoop():
            return await closed_loop.run(job)
        case ConstantRate():
            return await constant_rate.run(job)
        case Streaming():
            return await streaming.run(job)


def _main() -> None:
    job = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=Job)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        found = runner.run(_work(job))
    sys.stdout.buffer.write(msgspec.msgpack.encode(found))


if __name__ == "__main__":
    _main()
