"""Units of work on all processors, with a line on each job that is done and a guess of what is left."""

import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.managers import SyncManager
from queue import Empty, Queue

from load_tests.quality.jobs import Found, Unit

Make = Callable[[], Unit]
PATIENCE_SECONDS = 0.5


@dataclass(slots=True)
class Clock:
    """What is done of all that there is to do, by the guessed lengths."""

    whole: float
    done: float = 0.0
    started: float = 0.0

    def left(self, now: float) -> float | None:
        """Seconds that are left if it goes on as before; None until something is done."""
        return (now - self.started) * (self.whole / self.done - 1.0) if self.done else None


def play(units: Sequence[Make]) -> list[Found]:
    """Play all units, each in a process of its own, and return what they find."""
    clock = Clock(sum(job.seconds for make in units for job in make().jobs()), started=time.monotonic())
    context = get_context("spawn")
    with context.Manager() as manager, ProcessPoolExecutor(os.cpu_count(), context, max_tasks_per_child=1) as pool:
        done = _queue(manager)
        tasks = [pool.submit(_play, make, done) for make in units]
        _follow(tasks, done, clock)
    return [each for task in tasks for each in task.result()]


def _queue(manager: SyncManager) -> "Queue[tuple[str, float, float]]":
    return manager.Queue()


def _play(make: Make, done: "Queue[tuple[str, float, float]]") -> list[Found]:
    found: list[Found] = []
    for job in make().jobs():
        start = time.monotonic()
        found += job.run()
        done.put((job.text, job.seconds, time.monotonic() - start))
    return found


def _follow(tasks: Sequence[Future[list[Found]]], done: "Queue[tuple[str, float, float]]", clock: Clock) -> None:
    while not (all(task.done() for task in tasks) and done.empty()):
        try:
            text, guessed, taken = done.get(timeout=PATIENCE_SECONDS)
        except Empty:
            _raise_early(tasks)
            continue
        clock.done += guessed
        now = time.monotonic()
        left = clock.left(now)
        print(f"[{now - clock.started:5.0f} s] {text}: {taken:.1f} s{told(left)}", file=sys.stderr, flush=True)


def told(left: float | None) -> str:
    """What is left, in words; nothing while it cannot be guessed."""
    if left is None:
        return ""
    return f"; about {left / 60:.0f} min left" if left > 90.0 else f"; about {left:.0f} s left"


def _raise_early(tasks: Sequence[Future[list[Found]]]) -> None:
    """Do not let the others work for minutes when one has failed."""
    for task in tasks:
        if task.done() and task.exception() is not None:
            for other in tasks:
                other.cancel()
            task.result()
