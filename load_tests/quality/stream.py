"""Examples as every contender gets them: the same keys, values of length 1, in the same order."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernels.arrays import Floats, Ints, Keys


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """Labelled examples in CSR form; `raws` are the inputs themselves, where a contender reads those."""

    starts: Ints
    keys: Keys
    values: Floats
    labels: Floats
    raws: Sequence[bytes] = ()

    def __len__(self) -> int:
        """How many examples there are."""
        return self.labels.size

    def first(self, count: int) -> "Stream":
        """The examples of the beginning."""
        count = min(count, len(self))
        stop = self.starts[count]
        return Stream(
            self.starts[: count + 1], self.keys[:stop], self.values[:stop], self.labels[:count], self.raws[:count]
        )

    def part(self, chosen: Ints) -> "Stream":
        """Some of the examples, in the order in which they are named."""
        lengths = np.diff(self.starts)[chosen]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        places = np.repeat(self.starts[:-1][chosen] - starts[:-1], lengths) + np.arange(starts[-1])
        raws = [self.raws[i] for i in chosen.tolist()] if self.raws else ()
        return Stream(starts, self.keys[places], self.values[places], self.labels[chosen], raws)

    def columns(self) -> tuple[NDArray[np.int32], int]:
        """Features numbered from 0, for those who cannot take hashes without collisions; and how many there are."""
        names, columns = np.unique(self.keys, return_inverse=True)
        return columns.astype(np.int32), names.size

    def without_singletons(self) -> "Stream":
        """Without features that only one example has.

        A learner whose weights start at 0 and move each by its own feature scores the same without them: what it
        learns of such a feature is never asked for. It has fewer weights to carry, though.
        """
        _, columns, counts = np.unique(self.keys, return_inverse=True, return_counts=True)
        kept = counts[columns] > 1
        starts = np.concatenate([[0], np.cumsum(kept)])[self.starts].astype(np.int64)
        return Stream(starts, self.keys[kept], self.values[kept], self.labels, self.raws)
