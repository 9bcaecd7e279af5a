"""The client's process: `done(job)` starts it and waits for what it found."""

import asyncio
import subprocess
import sys

import msgspec
import uvloop

from load_tests.peers.client import connections, programs
from load_tests.peers.client.jobs import Done, Job

PATIENCE_SECONDS = 900.0  # the slowest take a minute or two for their turn


def done(job: Job) -> Done:
    """Let a client do this."""
    command = [sys.executable, "-m", __name__]
    answer = subprocess.run(  # noqa: S603 - our own module
        command,
        input=msgspec.msgpack.encode(job),
        stdout=subprocess.PIPE,
        check=True,
        timeout=PATIENCE_SECONDS,
        start_new_session=True,  # a Ctrl-C is for the benchmark, which then ends it
    )
    return msgspec.msgpack.decode(answer.stdout, type=Done)


def _main() -> None:
    job = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=Job)
    ask = programs.ask if job.wire == "programs" else connections.ask
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        found = runner.run(ask(job))
    sys.stdout.buffer.write(msgspec.msgpack.encode(found))


if __name__ == "__main__":
    _main()
