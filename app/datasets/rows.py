"""Collects examples whose features come as Python strings and numbers."""

from collections.abc import Callable, Collection, Iterable

import numpy as np

from app.datasets.batch import Batch
from app.datasets.errors import MalformedLine
from app.datasets.faults import Faults
from app.datasets.lines import Block
from kernels.arrays import Keys
from kernels.hashing import SEPARATOR, hash_names, key_of


class Rows:
    """Examples one by one, to be made a batch of."""

    def __init__(self) -> None:
        self._labels: list[float] = []
        self._starts = [0]
        self._names: list[str] = []
        self._values: list[float] = []

    def add(self, label: float, names: Collection[str], values: Iterable[float]) -> None:
        """Add an example."""
        self._labels.append(label)
        self._names += names
        self._values += values
        self._starts.append(len(self._names))

    def batch(self) -> Batch:
        """Return what has been added."""
        return Batch(
            starts=np.array(self._starts, np.int64),
            keys=_keys_of(self._names),
            values=np.array(self._values, np.float64),
            labels=np.array(self._labels, np.float64),
            names=self._names,
        )


def parse_lines(block: Block, faults: Faults, add_line: Callable[[Rows, bytes], None]) -> Batch:
    """Make a batch of the lines of a block; `add_line` may find one malformed."""
    rows = Rows()
    for number, text in block.lines():
        try:
            add_line(rows, text)
        except MalformedLine as fault:
            if not faults.note(number, str(fault)):
                break
    return rows.batch()


def _keys_of(names: list[str]) -> Keys:
    keys = np.empty(len(names), np.uint64)
    if names:
        text = np.frombuffer(chr(SEPARATOR).join(names).encode(), np.uint8)
        if np.count_nonzero(text == SEPARATOR) == len(names) - 1:
            hash_names(text, keys)
        else:  # a name contains the separator
            keys[:] = [key_of(name) for name in names]
    return keys
