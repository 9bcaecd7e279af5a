"""What of a set is learnt, in which order, and what is left for the test: all by seeds."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from experiments.sets.rare import rare
from experiments.stored import Block, Stored, opened
from kernels.arrays import Ints

SPLIT_SEED: Final = 2_016
TEST_SHARE: Final = 0.2
HELD_NONZEROS: Final = 60_000_000  # of all that a process keeps in memory: about 1 GB
TRAIN, TEST = "train", "test"


@dataclass(frozen=True, slots=True)
class Again:
    """Blocks that are read from the disk whenever they are asked for."""

    make: Callable[[], Iterator[Block]]

    def __iter__(self) -> Iterator[Block]:
        """Read them."""
        return self.make()


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """A set in two parts. With `rare` anomalies, so few of them are learnt that they are 1 in 100.

    The test then keeps all of its anomalies: balanced accuracy does not depend on the ratio, and is less of a lottery.
    """

    name: str
    train: Stored
    train_rows: Ints
    test: Stored
    test_rows: Ints
    rare: bool = False
    l2: bool = True  # examples are scaled to length 1

    @classmethod
    def open(cls, folder: str | Path, *, rare: bool = False, l2: bool = True) -> "Split":
        """A set that was stored; a fifth of it is held out unless a test came with it."""
        folder = Path(folder)
        train = opened(folder / TRAIN)
        if (folder / TEST).exists():
            test = opened(folder / TEST)
            return cls(folder.name, train, np.arange(len(train)), test, np.arange(len(test)), rare, l2)
        order = np.random.default_rng(SPLIT_SEED).permutation(len(train))
        held_out = round(TEST_SHARE * len(train))
        return cls(folder.name, train, np.sort(order[held_out:]), train, np.sort(order[:held_out]), rare, l2)

    def rows(self, repeat: int) -> Ints:
        """What is learnt in this repeat, in its order."""
        generator = np.random.default_rng([SPLIT_SEED, repeat])
        rows = self.train_rows
        if self.rare:
            rows = rows[rare(np.asarray(self.train.labels[rows]), int(generator.integers(1 << 31)))]
        return generator.permutation(rows)

    def those(self, rows: Ints) -> Again:
        """Some of the examples to be learnt."""
        return Again(partial(self.train.blocks, rows, l2=self.l2))

    def learnt(self, repeat: int) -> Iterable[Block]:
        """The examples of a repeat: in memory if they fit, else read anew at every pass."""
        again = self.those(self.rows(repeat))
        return list(again) if self.nonzeros <= HELD_NONZEROS else again

    def tests(self) -> Iterable[Block]:
        """The examples to be tested on."""
        again = Again(partial(self.test.blocks, self.test_rows, l2=self.l2))
        return list(again) if self.nonzeros <= HELD_NONZEROS else again

    @property
    def nonzeros(self) -> int:
        """Of what is learnt in a repeat."""
        return int(np.diff(self.train.starts)[self.rows(0)].sum())
