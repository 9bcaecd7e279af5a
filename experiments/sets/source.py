"""What a set is: where its files are, and how its examples are read."""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.datasets.batch import Batch

Reader = Callable[[int | None], Iterator[Batch]]  # of at most so many examples; None: of all

ROOT: Final = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Source:
    """A set. A limited read gives the first examples of a full one, and both classes among them."""

    name: str  # as in file names and on the command line
    title: str  # as in figures
    text: str  # what it is, where it is from, and what to beware of
    files: tuple[str, ...]  # below the data folder; none if it is made here
    train: Reader
    test: Reader | None = None  # None: a part of the others is held out

    def absent(self) -> list[Path]:
        """Files that it needs and that are not there."""
        return [path for path in map(located, self.files) if not path.exists()]


def located(file: str) -> Path:
    """Where a file of the data folder is; an absolute path stays what it is."""
    return Path(os.environ.get("SLUICE_DATA", ROOT.parent / "shared" / "data")) / file


def first(batches: Iterable[Batch], limit: int | None) -> Iterator[Batch]:
    """Yield the first examples; no more is read than they need."""
    if limit is None:
        yield from batches
        return
    left = limit
    for batch in batches if left > 0 else ():
        yield next(batch.split(left))
        left -= len(batch)
        if left <= 0:
            return
