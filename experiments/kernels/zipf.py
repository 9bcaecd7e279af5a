"""Generated examples whose features follow Zipf's law, as words and parts of URLs do."""

import math
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from kernels.arrays import Bytes, Floats, Ints, Keys
from kernels.compiler import kernel
from kernels.feature_hash import hash_name

Name = TypeVar("Name", np.uint64, np.int32)

NONZEROS = 100  # of every example, all different
SEED = 20_250_101
KEYS_PER_FILLING_EXAMPLE = 1000


@dataclass(frozen=True, slots=True)
class Stream:
    """The same examples by key, as Sluice takes them, and by column, as other libraries do; both ascending."""

    features: int
    starts: Ints
    keys: Keys
    values: Floats
    columns: NDArray[np.int32]
    column_values: Floats
    labels: Floats

    @property
    def nonzeros(self) -> int:
        return self.keys.size

    def flip_labels(self) -> None:
        """Flip every label: a learner that has seen the old one has a loss, and must learn it."""
        self.labels[:] = -self.labels


def zipf_stream(features: int, examples: int) -> Stream:
    """Draw examples of 100 distinct features, the k-th most frequent with a probability of about 1/k."""
    rng = np.random.default_rng([SEED, features])
    ranks = np.empty((examples, NONZEROS), np.int32)
    _draw(rng, features, np.full(features, -1, np.int32), ranks)
    values = 0.5 + rng.random(ranks.shape)
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    keys, key_values = _ascending(keys_of(features)[ranks], values)
    # The columns are shuffled: else frequent features would share cache lines, which hashed names never do.
    columns, column_values = _ascending(rng.permutation(features).astype(np.int32)[ranks], values)
    starts = np.arange(examples + 1, dtype=np.int64) * NONZEROS
    labels = np.where(rng.random(examples) < 0.5, 1.0, -1.0)
    return Stream(features, starts, keys, key_values, columns, column_values, labels)


def keys_of(features: int) -> Keys:
    """Return the key of every feature by rank: the feature hash of the rank's eight bytes."""
    keys = np.empty(features, np.uint64)
    _hash_ranks(np.arange(features, dtype=np.uint64).view(np.uint8), keys)
    return keys


def filling(features: int) -> Stream:
    """Return every feature once, in long examples, which fill the table under test."""
    keys = np.random.default_rng(SEED).permutation(keys_of(features))
    whole = features - features % KEYS_PER_FILLING_EXAMPLE
    keys[:whole] = np.sort(keys[:whole].reshape(-1, KEYS_PER_FILLING_EXAMPLE), axis=1).reshape(-1)
    keys[whole:].sort()
    starts = np.unique(np.append(np.arange(0, features, KEYS_PER_FILLING_EXAMPLE), features)).astype(np.int64)
    values = np.full(features, 1.0 / math.sqrt(KEYS_PER_FILLING_EXAMPLE))
    nothing = np.empty(0, np.int32)
    labels = np.resize(np.array([1.0, -1.0]), starts.size - 1)
    return Stream(features, starts, keys, values, nothing, np.empty(0), labels)


def _ascending(names: NDArray[Name], values: Floats) -> tuple[NDArray[Name], Floats]:
    order = np.argsort(names, axis=1)
    return np.take_along_axis(names, order, axis=1).reshape(-1), np.take_along_axis(values, order, axis=1).reshape(-1)


@kernel
def _draw(rng: Generator, features: int, last_example: NDArray[np.int32], ranks: NDArray[np.int32]) -> None:
    """Draw ranks uniformly in their logarithm, which is Zipf with exponent 1; repeated ranks are drawn again."""
    scale = math.log(features + 1.0)
    for i in range(ranks.shape[0]):
        for k in range(ranks.shape[1]):
            rank = features
            while rank >= features or last_example[rank] == i:
                rank = int(math.exp(rng.random() * scale)) - 1
            last_example[rank] = i
            ranks[i, k] = rank


@kernel
def _hash_ranks(text: Bytes, keys: Keys) -> None:
    for k in range(keys.size):
        keys[k] = hash_name(text, 8 * k, 8 * k + 8)
