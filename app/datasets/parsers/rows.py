"""Collects examples one by one, to be made a batch of."""

from collections.abc import Callable, Sequence

import numpy as np

from app.datasets.batch import Batch
from app.datasets.blocks import Block
from app.datasets.errors import MalformedLine
from app.datasets.skipped_lines import Faults
from app.learning.example import Example
from kernels.arrays import Ints


class NamesOfExamples:
    """The names of several examples, one behind the other; a name is made when it is asked for."""

    def __init__(self, starts: Ints, names: list[Sequence[str]]) -> None:
        self._starts = starts
        self._names = names

    def __getitem__(self, position: int, /) -> str:
        """Return the name of the non-zero at `position`."""
        which = int(np.searchsorted(self._starts, position, side="right")) - 1
        return self._names[which][position - int(self._starts[which])]


class Rows:
    """Examples one by one, to be made a batch of."""

    def __init__(self) -> None:
        self._labels: list[float] = []
        self._examples: list[Example] = []
        self.nonzeros = 0

    def __len__(self) -> int:
        """Return the number of examples."""
        return len(self._labels)

    def add(self, label: float, example: Example) -> None:
        """Add an example."""
        self._labels.append(label)
        self._examples.append(example)
        self.nonzeros += example.keys.size

    def batch(self) -> Batch:
        """Return what has been added."""
        starts = np.zeros(len(self) + 1, np.int64)
        np.cumsum([example.keys.size for example in self._examples], out=starts[1:])
        return Batch(
            starts=starts,
            keys=np.concatenate([np.empty(0, np.uint64), *(example.keys for example in self._examples)]),
            values=np.concatenate([np.empty(0), *(example.values for example in self._examples)]),
            labels=np.array(self._labels, np.float64),
            names=NamesOfExamples(starts, [example.names for example in self._examples]),
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
