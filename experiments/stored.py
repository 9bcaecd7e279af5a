"""Examples on disk, mapped into memory: a set may be larger than the memory, and is featurized only once."""

import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from app.datasets.batch import Batch
from kernels.arrays import Floats, Ints, Keys
from kernels.examples.canonical import canonical_batch

BLOCK_NONZEROS: Final = 4_000_000  # of what is held in memory at once, if the set is large
NO_BIAS: Final = np.uint64(0)
COLUMNS: Final[dict[str, Any]] = {
    "lengths": np.int64,
    "keys": np.uint64,
    "values": np.float64,
    "norms": np.float64,
    "labels": np.float64,
}


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Some examples in the canonical form that kernels take."""

    starts: Ints
    keys: Keys
    values: Floats
    labels: Floats

    def __len__(self) -> int:
        """How many there are."""
        return self.labels.size

    def part(self, first: int, last: int) -> "Block":
        """Those examples; keys and values are shared."""
        return Block(self.starts[first : last + 1], self.keys, self.values, self.labels[first:last])


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """All examples of a set, as they were read; `norms` are their Euclidean lengths."""

    starts: Ints
    keys: Keys
    values: Floats
    norms: Floats
    labels: Floats

    def __len__(self) -> int:
        """How many there are."""
        return self.labels.size

    def blocks(self, rows: Ints, *, l2: bool = True, nonzeros: int = BLOCK_NONZEROS) -> Iterator[Block]:
        """Those examples in that order, scaled to length 1 if so wished, some at a time."""
        lengths = np.diff(self.starts)[rows]
        ends = np.cumsum(lengths)
        first = 0
        while first < rows.size:
            done = ends[first - 1] if first else 0
            last = max(int(np.searchsorted(ends, done + nonzeros, side="right")), first + 1)
            yield self._block(rows[first:last], lengths[first:last], l2=l2)
            first = last

    def _block(self, rows: Ints, lengths: Ints, *, l2: bool) -> Block:
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        places = np.repeat(self.starts[rows] - starts[:-1], lengths) + np.arange(starts[-1])
        values = self.values[places]
        if l2:
            values /= np.repeat(self.norms[rows], lengths)
        return Block(starts, self.keys[places], values, self.labels[rows])


def store(batches: Iterable[Batch], folder: Path) -> None:
    """Write a set, a batch at a time; the folder appears when all of it is there."""
    aside = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    files = {name: (aside / name).open("wb") for name in COLUMNS}
    try:
        for batch in batches:
            _append(batch, files)
    finally:
        for file in files.values():
            file.close()
    aside.rename(folder)


def opened(folder: Path) -> Stored:
    """A set that was stored."""
    lengths = _mapped(folder, "lengths")
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Stored(starts, *(_mapped(folder, name) for name in ("keys", "values", "norms", "labels")))


def _append(batch: Batch, files: Mapping[str, BinaryIO]) -> None:
    starts, keys, values = canonical_batch(batch.starts, batch.keys, batch.values, False, NO_BIAS)  # noqa: FBT003
    norms = np.array([np.linalg.norm(values[i:j]) for i, j in pairwise(starts.tolist())])
    norms[norms == 0.0] = 1.0  # the zero vector stays what it is
    columns = (np.diff(starts), keys, values, norms, batch.labels)
    for file, column in zip(files.values(), columns, strict=True):
        file.write(np.ascontiguousarray(column).tobytes())


def _mapped(folder: Path, name: str) -> NDArray[Any]:
    path = folder / name
    if path.stat().st_size == 0:
        return np.empty(0, COLUMNS[name])
    return np.memmap(path, COLUMNS[name], mode="r")
