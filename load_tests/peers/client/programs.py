"""A process for every request, as a mail filter is run: the first line is the command, the rest its input."""

import asyncio
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

from load_tests.peers.client.jobs import Done, Job
from load_tests.peers.client.run import Run
from load_tests.service.http_answers import BadAnswer

LARGEST_VERDICT = 3  # what a filter returns instead of 0: ham, not sure, or that it knows no words yet


async def ask(job: Job) -> Done:
    """Run so many processes at a time."""
    run = Run(job)
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(job.connections) as threads:
        await asyncio.gather(*(loop.run_in_executor(threads, _one, run) for _ in range(job.connections)))
    return run.done()


def _one(run: Run) -> None:
    while (request := run.next_request()) is not None:
        sent = time.perf_counter()
        command, _, given = request.data.partition(b"\n")
        done = subprocess.run(  # noqa: S603 - a contender's own command
            command.decode().split(), cwd=run.job.folder, input=given, capture_output=True, check=False
        )
        if not 0 <= done.returncode <= LARGEST_VERDICT:
            raise BadAnswer(f"{command.decode()} returned {done.returncode}: {done.stderr[:300]!r}")
        run.answered(request, done.stdout, sent)
