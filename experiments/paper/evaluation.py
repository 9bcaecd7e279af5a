"""How a stored set is split by seeds, one pass over its training examples, and a test of what was learnt."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import numpy as np

from app.learning.config import config_of
from app.learning.model import Model
from experiments.examples import Examples, opened, rare
from experiments.paper.protocol import Setting
from experiments.preparation import TEST, TRAIN
from experiments.quality.verdicts import confusion
from kernels.arrays import Ints

MAX_FEATURES: Final = 1 << 27
SPLIT_SEED: Final = 2_016
TEST_SHARE: Final = 0.2
HELD_NONZEROS: Final = 60_000_000  # that a process keeps in memory: about 1 GB


@dataclass(frozen=True, slots=True)
class Again:
    """Blocks that are read from disk on every pass."""

    make: Callable[[], Iterator[Examples]]

    def __iter__(self) -> Iterator[Examples]:
        return self.make()


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """A set in two parts. With `rare`, anomalies are 1 in 100 of the training examples.

    The test keeps all of its anomalies: balanced accuracy does not depend on the ratio, and has less variance.
    """

    name: str
    train: Examples
    train_rows: Ints
    test: Examples
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
        generator = np.random.default_rng([SPLIT_SEED, repeat])
        rows = self.train_rows
        if self.rare:
            rows = rows[rare(np.asarray(self.train.labels[rows]), int(generator.integers(1 << 31)))]
        return generator.permutation(rows)

    @property
    def nonzeros(self) -> int:
        return int(np.diff(self.train.starts)[self.rows(0)].sum())

    def trained(self, repeat: int) -> Iterable[Examples]:
        return self._held(self.train, self.rows(repeat))

    def tested(self) -> Iterable[Examples]:
        return self._held(self.test, self.test_rows)

    def _held(self, stored: Examples, rows: Ints) -> Iterable[Examples]:
        """Hold examples in memory if they fit; else read them on every pass."""
        again = Again(partial(stored.blocks, rows, l2=self.l2))
        return list(again) if self.nonzeros <= HELD_NONZEROS else again


class Run(msgspec.Struct, frozen=True):
    """The result of one pass; `balanced` is None where the test has one class only."""

    sparsity: float  # share of the features met whose weight is 0
    error: float
    balanced: float | None


class Learnt(NamedTuple):
    """A model after one pass."""

    model: Model
    seconds: float  # of the kernels
    losses: float  # share of the examples whose margin was below 1 before they were learnt

    @property
    def sparsity(self) -> float:
        """Return the share of the features met whose weight is 0 under the last lambda."""
        return float((self.model.survey().weights == 0.0).mean()) if self.model.features else 0.0


def learn(setting: Setting, blocks: Iterable[Examples]) -> Learnt:
    model = Model(config_of({"max_features": MAX_FEATURES, **setting}))
    seconds, losses, examples = 0.0, 0, 0
    for block in blocks:
        start = time.perf_counter()
        scores = model.stream(block.starts, block.keys, block.values, block.labels)
        seconds += time.perf_counter() - start
        losses += int((block.labels * scores < 1.0).sum())
        examples += len(block)
    return Learnt(model, seconds, losses / max(examples, 1))


def play(setting: Setting, train: Iterable[Examples], test: Iterable[Examples]) -> Run:
    learnt = learn(setting, train)
    model = learnt.model
    found = [(block.labels, model.scores(block.starts, block.keys, block.values) - model.threshold) for block in test]
    labels, scores = (np.concatenate(column) for column in zip(*found, strict=True))
    tested = confusion(labels, scores)
    assert tested.error is not None, "a test has examples"
    return Run(learnt.sparsity, tested.error, tested.balanced_accuracy)
