"""Batches of examples in the form that the learners take (CSR), and a builder that collects examples one by one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from app.learning.example import Example
from app.learning.parts.numbers import NONE_GIVEN
from kernels.arrays import Floats, Ints, Keys


class ReadableNames(Protocol):
    """The readable names of non-zeros; a name is decoded on access."""

    def __getitem__(self, position: int, /) -> str:
        """Return the name of the non-zero at `position`."""


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Example i has the non-zeros `starts[i]:starts[i + 1]` of `keys` and `values`, as read, and `labels[i]`.

    The first `given[i]` of them are in the file; a featurizer found the others. An empty `given` stands for zeros.
    """

    starts: Ints
    keys: Keys
    values: Floats
    labels: Floats  # 1.0 or -1.0
    names: ReadableNames
    first_name: int = 0  # index in `names` of the first non-zero
    given: Ints = field(default_factory=lambda: NONE_GIVEN)

    def __len__(self) -> int:
        """Return the number of examples."""
        return self.labels.size

    def name_at(self, position: int) -> str:
        """Return the name of the non-zero whose key is `keys[position]`."""
        return self.names[self.first_name + position]

    def split(self, examples: int) -> Iterator["Batch"]:
        """Yield the batch in parts of at most `examples` examples."""
        for first in range(0, len(self), examples):
            yield self._part(first, min(first + examples, len(self)))

    def _part(self, first: int, last: int) -> "Batch":
        start, stop = int(self.starts[first]), int(self.starts[last])
        return Batch(
            starts=self.starts[first : last + 1] - start,
            keys=self.keys[start:stop],
            values=self.values[start:stop],
            labels=self.labels[first:last],
            names=self.names,
            first_name=self.first_name + start,
            given=self.given[first:last],
        )


class BatchBuilder:
    """Collects examples one by one and builds a batch of them."""

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
        """Return the batch of all added examples."""
        starts = np.zeros(len(self) + 1, np.int64)
        np.cumsum([example.keys.size for example in self._examples], out=starts[1:])
        return Batch(
            starts=starts,
            keys=np.concatenate([np.empty(0, np.uint64), *(example.keys for example in self._examples)]),
            values=np.concatenate([np.empty(0), *(example.values for example in self._examples)]),
            labels=np.array(self._labels, np.float64),
            names=ExampleNames(starts, [example.names for example in self._examples]),
            given=np.array([example.given for example in self._examples], np.int64),
        )


class ExampleNames:
    """The concatenated names of several examples; a name is decoded on access."""

    def __init__(self, starts: Ints, names: list[Sequence[str]]) -> None:
        self._starts = starts
        self._names = names

    def __getitem__(self, position: int, /) -> str:
        """Return the name of the non-zero at `position`."""
        example = int(np.searchsorted(self._starts, position, side="right")) - 1
        return self._names[example][position - int(self._starts[example])]
