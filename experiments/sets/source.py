"""What a data set is, where its files are, and how a matrix becomes a batch."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.datasets.batch import Batch
from kernels.arrays import Floats, Ints, Keys
from kernels.feature_hash import key_of

Reader = Callable[[int | None], Iterator[Batch]]  # reads at most so many examples; None: all

ROOT: Final = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Source:
    """A data set. A limited read yields the first examples of a full read, with both classes among them."""

    name: str  # in file names and on the command line
    title: str  # in figures and tables
    files: tuple[str, ...]  # below the data folder; empty for a generated set
    train: Reader
    test: Reader | None = None  # None: a part of the training examples is held out

    def absent(self) -> list[Path]:
        return [path for path in map(located, self.files) if not path.exists()]


def located(file: str) -> Path:
    """Return the path of a file in the data folder; an absolute path is returned unchanged."""
    return Path(os.environ.get("SLUICE_DATA", ROOT.parent / "shared" / "data")) / file


def first(batches: Iterable[Batch], limit: int | None) -> Iterator[Batch]:
    """Yield the first examples, and read no further batch than they need."""
    if limit is None:
        yield from batches
        return
    left = limit
    for batch in batches if left > 0 else ():
        yield next(batch.split(left))
        left -= len(batch)
        if left <= 0:
            return


def numbered(count: int) -> list[str]:
    return [str(column) for column in range(1, count + 1)]


def keys_of(names: Sequence[str]) -> Keys:
    return np.array([key_of(name) for name in names], np.uint64)


def named(names: Sequence[str], columns: Ints) -> NDArray[np.object_]:
    return np.array(names, object)[columns]


def batch_of(matrix: NDArray[np.number], labels: Floats, names: Sequence[str], *, with_zeros: bool = False) -> Batch:
    """Make a batch of the rows of a matrix; zeros are left out, or given as a caller of the service gives them."""
    rows, columns = np.nonzero(np.ones(matrix.shape) if with_zeros else matrix)
    starts = np.searchsorted(rows, np.arange(len(matrix) + 1)).astype(np.int64)
    values = matrix[rows, columns].astype(np.float64)
    return Batch(starts, keys_of(names)[columns], values, labels, named(names, columns))
