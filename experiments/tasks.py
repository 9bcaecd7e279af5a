"""Independent pieces of a study: they run on all processors, and their results are kept, so that a run can resume."""

import hashlib
import os
import re
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final, get_type_hints

import msgspec

ROOT: Final = Path(__file__).parents[1]
# A change in any of these may change every result; a task also depends on its own module and what that imports.
SHARED: Final = (
    *("kernels", "app/learning", "app/datasets", "app/features"),
    *("experiments/sets", "experiments/examples.py", "experiments/paper/evaluation.py"),
)

Found = dict[str, dict[str, Any]]  # results by study and by the name of the task


@dataclass(frozen=True, slots=True)
class Task:
    """A call of `run(**arguments)`, which returns the same numbers in every process, unless it measures time."""

    study: str
    name: str  # unique in its study
    seconds: float  # about how long it takes on one core
    run: Callable[..., Any]  # its annotation names the type of the result
    arguments: dict[str, Any]  # JSON values

    @property
    def key(self) -> str:
        """Name the result: it changes with the arguments and with the code."""
        module = sys.modules[self.run.__module__]
        used = {getattr(value, "__module__", None) or "" for value in vars(module).values()} | {module.__name__}
        own = tuple(sorted(f"{name.replace('.', '/')}.py" for name in used if name.startswith("experiments.")))
        text = msgspec.json.encode([self.study, self.name, self.arguments], order="sorted")
        slug = re.sub(r"[^a-z0-9]+", "-", f"{self.study} {self.name}".lower()).strip("-")
        return f"{slug}-{hashlib.sha256(text + code(SHARED + own).encode()).hexdigest()[:12]}"


@cache
def code(paths: tuple[str, ...]) -> str:
    digest = hashlib.sha256()
    for path in map(ROOT.joinpath, paths):
        for source in sorted(path.rglob("*.py")) if path.is_dir() else [path] if path.exists() else []:
            digest.update(source.relative_to(ROOT).as_posix().encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()


def run(
    tasks: Sequence[Task], folder: Path, processes: int | None = None, *, longest_first: bool = True,
    until: float | None = None,
) -> Found:  # fmt: skip
    """Run the tasks whose results the folder does not hold yet; return the results of all.

    None begins after `until`, a time of `time.time()`: then the results of some are missing.
    """
    missing = missing_of(tasks, folder)
    if longest_first:
        missing = sorted(missing, key=lambda task: -task.seconds)
    if len(missing) < len(tasks):
        log(f"{len(tasks) - len(missing)} of {len(tasks)} were done before")
    folder.mkdir(parents=True, exist_ok=True)
    processes = processes or os.cpu_count() or 1
    left, done, spent = sum(task.seconds for task in missing), 0.0, 0.0
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        futures = {pool.submit(_keep, task, _path(task, folder), until): task for task in missing}
        try:
            for number, future in enumerate(as_completed(futures), 1):
                task, taken = futures[future], future.result()
                if taken is None:
                    continue
                left, done, spent = left - task.seconds, done + task.seconds, spent + taken
                seconds = left * spent / (done or 1.0) / processes  # if the estimates stay as wrong as they were
                text = f"{seconds / 60:.0f} min" if seconds > 90.0 else f"{seconds:.0f} s"
                log(f"[{number}/{len(missing)}] {task.study}: {task.name}: {taken:.1f} s; about {text} left")
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    found: Found = defaultdict(dict)
    for task in tasks:
        assert task.name not in found[task.study], "a name is unique in its study"
        if until is not None and not _path(task, folder).exists():
            continue
        kind = get_type_hints(task.run)["return"]
        found[task.study][task.name] = msgspec.json.decode(_path(task, folder).read_bytes(), type=kind)
    return found


def missing_of(tasks: Sequence[Task], folder: Path) -> list[Task]:
    return [task for task in tasks if not _path(task, folder).exists()]


def log(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def _keep(task: Task, path: Path, until: float | None) -> float | None:
    """Return how long it took; None if it is too late to begin."""
    if until is not None and time.time() >= until:
        return None
    start = time.perf_counter()
    found = task.run(**task.arguments)
    part = path.with_suffix(".part")
    part.write_bytes(msgspec.json.format(msgspec.json.encode(found)))
    part.rename(path)
    return time.perf_counter() - start


def _path(task: Task, folder: Path) -> Path:
    return folder / f"{task.key}.json"
