"""Sets that are featurised once and stored on disk, for the paper's study and for the benchmark of quality."""

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from experiments.examples import Examples, opened, store
from experiments.sets import QUALITY_SOURCES, SOURCES
from experiments.sets.files import given
from experiments.tasks import Task, code, run

CODE: Final = ("kernels", "app/datasets", "app/features", "experiments/sets", "experiments/examples.py")
SECONDS: Final = {"trec07p": 60.0, "mails": 120.0, "news": 40.0, "phishtank": 12.0, "synthetic": 15.0}
TRAIN, TEST = "train", "test"


class Facts(msgspec.Struct, frozen=True):
    """The dimensions of a set."""

    name: str
    train: int
    test: int | None  # None: a part is held out
    positives: int  # of both
    nonzeros: int
    features: int


def sets_folder(work: Path) -> Path:
    return work / f"sets-{code(CODE)[:8]}"


def prepare_sets(
    names: Iterable[str], paths: Mapping[str, list[str]], work: Path, limit: int | None, processes: int | None = None
) -> dict[str, Facts]:
    """Store all sets side by side; `paths` are the user's own files, by the name of the set."""
    tasks = []
    for name in [*names, *paths]:
        folder = str(sets_folder(work) / name)
        arguments = {"name": name, "paths": paths.get(name, []), "folder": folder, "limit": limit}
        tasks.append(Task("sets", name, SECONDS.get(name, 5.0), prepare, arguments))
    return run(tasks, sets_folder(work), processes)["sets"]


def prepare(name: str, paths: list[str], folder: str, limit: int | None) -> Facts:
    source = given(name, *paths) if paths else (SOURCES | QUALITY_SOURCES)[name]
    shutil.rmtree(folder, ignore_errors=True)
    parts = {TRAIN: source.train} if source.test is None else {TRAIN: source.train, TEST: source.test}
    for part, read in parts.items():
        store(read(limit), Path(folder) / part)
    return facts_of(name, *(opened(Path(folder) / part) for part in parts))


def facts_of(name: str, *parts: Examples) -> Facts:
    return Facts(
        name,
        len(parts[0]),
        len(parts[1]) if len(parts) > 1 else None,
        sum(int((each.labels > 0.0).sum()) for each in parts),
        sum(each.keys.size for each in parts),
        np.unique(np.concatenate([np.unique(each.keys) for each in parts])).size,
    )
