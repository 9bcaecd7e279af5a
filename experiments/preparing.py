"""Turning sets into features and storing them, once."""

import shutil
import time
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from experiments.sets.libsvm import given
from experiments.sets.registry import SOURCES
from experiments.sets.source import Source
from experiments.splits import TEST, TRAIN
from experiments.stored import opened, store
from experiments.task import Task, code

STUDY: Final = "sets"
CODE: Final = ("kernels", "app/datasets", "app/features", "experiments/sets")
SECONDS: Final = {"trec07p": 60.0, "mails": 120.0, "news": 40.0, "phishtank": 12.0, "synthetic": 15.0}


class Facts(msgspec.Struct, frozen=True):
    """What a set is made of."""

    name: str
    train: int
    test: int | None  # None: a part is held out
    positives: int  # of both
    nonzeros: int
    features: int
    seconds: float


def folder_of(work: Path, name: str) -> Path:
    """Where a set is stored."""
    return sets_folder(work) / name


def sets_folder(work: Path) -> Path:
    """Sets that the present code has made: what another one made stays apart."""
    return work / f"sets-{code(CODE)[:8]}"


def tasks(names: list[str], paths: dict[str, list[str]], work: Path, limit: int | None) -> list[Task]:
    """A task for each set; `paths` are files of the user's own, by the name that they are given."""
    return [
        Task(
            STUDY,
            name,
            SECONDS.get(name, 5.0),
            prepare,
            {"name": name, "paths": paths.get(name, []), "folder": str(folder_of(work, name)), "limit": limit},
        )
        for name in [*names, *paths]
    ]


def prepare(name: str, paths: list[str], folder: str, limit: int | None) -> Facts:
    """Read a set, turn it into features, and store it."""
    start = time.perf_counter()
    source = source_of(name, paths)
    shutil.rmtree(folder, ignore_errors=True)
    parts = {TRAIN: source.train} if source.test is None else {TRAIN: source.train, TEST: source.test}
    for part, read in parts.items():
        store(read(limit), Path(folder) / part)
    stored = [opened(Path(folder) / part) for part in parts]
    return Facts(
        name,
        len(stored[0]),
        len(stored[1]) if len(stored) > 1 else None,
        sum(int((each.labels > 0.0).sum()) for each in stored),
        sum(each.keys.size for each in stored),
        np.unique(np.concatenate([np.unique(each.keys) for each in stored])).size,
        time.perf_counter() - start,
    )


def source_of(name: str, paths: list[str]) -> Source:
    """A set of ours, or of files that were given."""
    return given(name, *paths) if paths else SOURCES[name]
