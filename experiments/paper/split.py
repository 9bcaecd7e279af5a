"""How a stored set is split into training and test examples: all by seeds."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from experiments.examples import Examples, Stored, opened, rare
from experiments.preparation import TEST, TRAIN
from kernels.arrays import Ints

SPLIT_SEED: Final = 2_016
TEST_SHARE: Final = 0.2
HELD_NONZEROS: Final = 60_000_000  # that a process keeps in memory: about 1 GB


@dataclass(frozen=True, slots=True)
class Again:
    """Blocks that are read from disk on every pass."""

    make: Callable[[], Iterator[Examples]]

    def __iter__(self) -> Iterator[Examples]:
        """Read them."""
        return self.make()


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """A set in two parts. With `rare`, anomalies are 1 in 100 of the training examples.

    The test keeps all of its anomalies: balanced accuracy does not depend on the ratio, and has less variance.
    """

    name: str
    train: Stored
    train_rows: Ints
    test: Stored
    test_rows: Ints
    rare: bool = False
    l2: bool = True  # scale examples to length 1

    @classmethod
    def open(cls, folder: str | Path, *, rare: bool = False, l2: bool = True) -> "Split":
        """Open a stored set; a fifth of it is held out unless it has a test of its own."""
        folder = Path(folder)
        train = opened(folder / TRAIN)
        if (folder / TEST).exists():
            test = opened(folder / TEST)
            return cls(folder.name, train, np.arange(len(train)), test, np.arange(len(test)), rare, l2)
        order = np.random.default_rng(SPLIT_SEED).permutation(len(train))
        held_out = round(TEST_SHARE * len(train))
        return cls(folder.name, train, np.sort(order[held_out:]), train, np.sort(order[:held_out]), rare, l2)

    def rows(self, repeat: int) -> Ints:
        """Return the training rows of a repeat, in its order."""
        generator = np.random.default_rng([SPLIT_SEED, repeat])
        rows = self.train_rows
        if self.rare:
            rows = rows[rare(np.asarray(self.train.examples.labels[rows]), int(generator.integers(1 << 31)))]
        return generator.permutation(rows)

    def trained(self, repeat: int) -> Iterable[Examples]:
        """Return the training examples of a repeat."""
        return self._held(self.train, self.rows(repeat))

    def tested(self) -> Iterable[Examples]:
        """Return the test examples."""
        return self._held(self.test, self.test_rows)

    @property
    def nonzeros(self) -> int:
        """Return the non-zeros of the training examples of a repeat."""
        return int(np.diff(self.train.examples.starts)[self.rows(0)].sum())

    def _held(self, stored: Stored, rows: Ints) -> Iterable[Examples]:
        """Hold examples in memory if they fit; else read them on every pass."""
        again = Again(partial(stored.blocks, rows, l2=self.l2))
        return list(again) if self.nonzeros <= HELD_NONZEROS else again
