"""Examples as the learners take them: rows of keys and values, one behind the other."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from kernels.arrays import Floats, Ints, Keys


class ReadableNames(Protocol):
    """The readable names of non-zeros; one is made when it is asked for."""

    def __getitem__(self, position: int, /) -> str:
        """Return the name of the non-zero at `position`."""


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Example i has the non-zeros `starts[i]:starts[i + 1]` of `keys` and `values`, as read, and `labels[i]`."""

    starts: Ints
    keys: Keys
    values: Floats
    labels: Floats  # 1.0 or -1.0
    names: ReadableNames
    first_name: int = 0  # which of the names is that of the first non-zero

    def __len__(self) -> int:
        """Return the number of examples."""
        return self.labels.size

    def name_at(self, position: int) -> str:
        """Return the name of the non-zero whose key is `keys[position]`."""
        return self.names[self.first_name + position]

    def split(self, examples: int) -> Iterator["Batch"]:
        """Yield the batch in parts of at most so many examples."""
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
        )
