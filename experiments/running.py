"""Doing tasks on all processors: what was found before is not looked for again, and what is left is told."""

import os
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, get_type_hints

import msgspec

from experiments.task import Task


@dataclass(slots=True)
class Progress:
    """What is done of all that there is to do, by the guessed lengths."""

    whole: float
    processes: int
    done: float = 0.0
    spent: float = 0.0  # seconds of processes, on what is done

    def left(self) -> float:
        """Seconds that are left if guesses stay as wrong as they were."""
        pace = self.spent / self.done if self.done else 1.0
        return (self.whole - self.done) * pace / self.processes


def do(tasks: Sequence[Task], folder: Path, processes: int | None = None) -> dict[str, dict[str, Any]]:
    """What each task finds, by its study and its name; kept in the folder one by one, so that a run can be resumed."""
    missing = missing_of(tasks, folder)
    if len(missing) < len(tasks):
        _tell(f"{len(tasks) - len(missing)} of {len(tasks)} were done before")
    if missing:
        _do(sorted(missing, key=lambda task: -task.seconds), folder, processes or os.cpu_count() or 1)
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    for task in tasks:
        found[task.study][task.name] = _read(task, folder)
    return found


def missing_of(tasks: Sequence[Task], folder: Path) -> list[Task]:
    """Those whose findings are not there from an earlier run."""
    return [task for task in tasks if not _path(task, folder).exists()]


def _do(tasks: Sequence[Task], folder: Path, processes: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    progress = Progress(sum(task.seconds for task in tasks), processes)
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        futures = {pool.submit(_work, task, _path(task, folder)): task for task in tasks}
        try:
            for number, future in enumerate(as_completed(futures), 1):
                _note(future, futures[future], progress, f"{number}/{len(tasks)}")
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _note(future: "Future[float]", task: Task, progress: Progress, count: str) -> None:
    taken = future.result()
    progress.done += task.seconds
    progress.spent += taken
    left = progress.left()
    told = f"{left / 60:.0f} min" if left > 90.0 else f"{left:.0f} s"
    _tell(f"[{count}] {task.study}: {task.name}: {taken:.1f} s; about {told} left")


def _work(task: Task, path: Path) -> float:
    start = time.perf_counter()
    found = task.run(**task.arguments)
    aside = path.with_suffix(".part")
    aside.write_bytes(msgspec.json.format(msgspec.json.encode(found)))
    aside.rename(path)
    return time.perf_counter() - start


def _read(task: Task, folder: Path) -> Any:  # noqa: ANN401 - whatever the task's function returns
    return msgspec.json.decode(_path(task, folder).read_bytes(), type=get_type_hints(task.run)["return"])


def _path(task: Task, folder: Path) -> Path:
    return folder / f"{task.key}.json"


def _tell(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)
