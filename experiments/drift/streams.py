"""Streams in the order of time, and one whose labels are turned round halfway."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from app.learning.config import Value, config_of
from app.learning.model import Model
from app.learning.names import BIAS_KEY
from experiments.sets.registry import SOURCES
from experiments.stored import Block, Stored
from kernels.arrays import Floats, Ints
from kernels.examples.canonical import canonical_batch

SEED: Final = 2_016
NO_BIAS: Final = 0


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """Examples as kernels take them, in parts, and all their labels."""

    blocks: list[Block]

    @property
    def labels(self) -> Floats:
        """1 and -1."""
        return np.concatenate([block.labels for block in self.blocks])

    def scores(self, setting: dict[str, Value]) -> Floats:
        """Test, then train: the score of each example before it was learnt."""
        model = Model(config_of(setting))
        return np.concatenate(
            [model.stream(block.starts, block.keys, block.values, block.labels) for block in self.blocks]
        )


def gathered(name: str, limit: int | None, *, bias: bool = False) -> Stored:
    """All examples of a set in memory, already scaled to length 1."""
    read = list(SOURCES[name].train(limit))
    lengths = np.concatenate([np.diff(batch.starts) for batch in read])
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    keys = np.concatenate([batch.keys for batch in read])
    values = np.concatenate([batch.values for batch in read])
    labels = np.concatenate([batch.labels for batch in read])
    added = np.uint64(BIAS_KEY if bias else NO_BIAS)
    return Stored(*canonical_batch(starts, keys, values, True, added), np.ones(labels.size), labels)  # noqa: FBT003


def in_order(stored: Stored) -> Stream:
    """A set as it happened."""
    return _stream(stored, np.arange(len(stored)))


def flipping(stored: Stored, seed: int, past: int | None = None) -> Stream:
    """A set in an order by seed; in its second half what was normal is an anomaly, and the other way round.

    With `past`, only so many examples come before that; those after it are the same.
    """
    rows = np.random.default_rng([SEED, seed]).permutation(len(stored))
    half = rows.size // 2
    labels = stored.labels.copy()
    labels[rows[half:]] *= -1.0
    turned = Stored(stored.starts, stored.keys, stored.values, stored.norms, labels)
    return _stream(turned, rows[0 if past is None else half - past :])


def _stream(stored: Stored, rows: Ints) -> Stream:
    return Stream(list(stored.blocks(rows, l2=False)))
