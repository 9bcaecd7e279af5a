"""Labelled examples in memory and on disk. A stored set is mapped into memory: it may be larger than that."""

import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from app.datasets.batch import Batch
from kernels.arrays import Floats, Ints, Keys
from kernels.examples.canonical import canonical_batch

BLOCK_NONZEROS: Final = 4_000_000  # of a block that is read from disk
NO_BIAS: Final = np.uint64(0)
NEGATIVES_PER_POSITIVE: Final = 99
COLUMNS: Final[dict[str, Any]] = {
    "lengths": np.int64,
    "keys": np.uint64,
    "values": np.float64,
    "norms": np.float64,
    "labels": np.float64,
}


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """Examples in CSR form, as kernels take them; `raws` are the inputs themselves, for learners that read those."""

    starts: Ints
    keys: Keys
    values: Floats
    labels: Floats
    raws: Sequence[bytes] = ()
    norms: Floats | None = None  # the Euclidean length of each example of a stored set, whose values are not scaled
    given: bool = False  # the numbers are a caller's, not those of our featurizers

    def __len__(self) -> int:
        return self.labels.size

    def between(self, first: int, last: int) -> "Examples":
        """Return a range of examples, without copying keys and values."""
        return Examples(self.starts[first : last + 1], self.keys, self.values, self.labels[first:last])

    def first(self, count: int) -> "Examples":
        return self.select(np.arange(min(count, len(self))))

    def select(self, rows: Ints) -> "Examples":
        lengths = np.diff(self.starts)[rows]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        places = np.repeat(self.starts[rows] - starts[:-1], lengths) + np.arange(starts[-1])
        raws = [self.raws[i] for i in rows.tolist()] if self.raws else ()
        return Examples(starts, self.keys[places], self.values[places], self.labels[rows], raws, given=self.given)

    def blocks(self, rows: Ints, *, l2: bool = True, nonzeros: int = BLOCK_NONZEROS) -> Iterator["Examples"]:
        """Yield these rows of a stored set in this order, a block at a time, scaled to length 1 if wanted."""
        assert self.norms is not None
        ends = np.cumsum(np.diff(self.starts)[rows])
        first = 0
        while first < rows.size:
            done = ends[first - 1] if first else 0
            last = max(int(np.searchsorted(ends, done + nonzeros, side="right")), first + 1)
            block = self.select(rows[first:last])
            if l2:
                norms = np.repeat(self.norms[rows[first:last]], np.diff(block.starts))
                np.divide(block.values, norms, out=block.values)
            yield block
            first = last

    def columns(self) -> tuple[NDArray[np.int32], int]:
        """Number the features from 0, for learners that cannot take hashes; also return how many there are."""
        names, columns = np.unique(self.keys, return_inverse=True)
        return columns.astype(np.int32), names.size

    def without_singletons(self) -> "Examples":
        """Drop features that only one example has: they do not change scores of a learner that starts at 0."""
        _, places, counts = np.unique(self.keys, return_inverse=True, return_counts=True)
        kept = counts[places] > 1
        starts = np.concatenate([[0], np.cumsum(kept)])[self.starts].astype(np.int64)
        return Examples(starts, self.keys[kept], self.values[kept], self.labels, self.raws)


def store(batches: Iterable[Batch], folder: Path) -> None:
    """Write a set, a batch at a time; the folder appears when the set is complete."""
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    files = {name: (part / name).open("wb") for name in COLUMNS}
    try:
        for batch in batches:
            starts, keys, values = canonical_batch(batch.starts, batch.keys, batch.values, False, NO_BIAS)  # noqa: FBT003
            norms = np.array([np.linalg.norm(values[i:j]) for i, j in pairwise(starts.tolist())])
            norms[norms == 0.0] = 1.0  # the zero vector stays as it is
            columns = (np.diff(starts), keys, values, norms, batch.labels)
            for file, column in zip(files.values(), columns, strict=True):
                file.write(np.ascontiguousarray(column).tobytes())
    finally:
        for file in files.values():
            file.close()
    part.rename(folder)


def opened(folder: Path) -> Examples:
    columns = []
    for name, kind in COLUMNS.items():
        path = folder / name
        columns.append(np.memmap(path, kind, mode="r") if path.stat().st_size else np.empty(0, kind))
    lengths, keys, values, norms, labels = columns
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Examples(starts, keys, values, labels, norms=norms)


def joined(batches: Iterable[Batch | Examples], bias: int = 0) -> Examples:
    """Hold all batches in memory, scaled to length 1 by the kernel that serves, optionally with a bias feature."""
    read = list(batches)
    lengths = np.concatenate([np.diff(batch.starts) for batch in read])
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    parts = ("keys", "values", "labels")
    keys, values, labels = (np.concatenate([getattr(batch, of) for batch in read]) for of in parts)
    return Examples(*canonical_batch(starts, keys, values, True, np.uint64(bias)), labels)  # noqa: FBT003


def rare(labels: Floats, seed: int, negatives_per_positive: int = NEGATIVES_PER_POSITIVE) -> Ints:
    """Keep all normal examples and so few random anomalies, of as many as there are; the order stays."""
    positives, negatives = np.flatnonzero(labels > 0.0), np.flatnonzero(labels <= 0.0)
    count = min(round(negatives.size / negatives_per_positive), positives.size)
    chosen = np.random.default_rng(seed).choice(positives, count, replace=False)
    return np.sort(np.concatenate([chosen, negatives])).astype(np.int64)
