"""The paper's synthetic set: 100 dimensions determine the label, and 200 of 900 others are noise in each example."""

from collections.abc import Iterator
from functools import partial
from typing import Final

import numpy as np

from app.datasets.batch import Batch
from experiments.sets.source import Source, first, keys_of, named, numbered
from kernels.arrays import Floats

SEED: Final = 0
TRAIN_EXAMPLES: Final = 100_000
TEST_EXAMPLES: Final = 10_000
DIMENSIONS: Final = 1_000
EFFECTIVE: Final = 100  # the first dimensions
NOISY: Final = 200  # of the others, in each example
NOISE_DEVIATION: Final = 10.0
BLOCK: Final = 1_000  # examples that are drawn at once

NAMES: Final = numbered(DIMENSIONS)
KEYS: Final = keys_of(NAMES)
PLANE, TRAIN, TEST = range(3)  # each has its own random numbers


def plane() -> tuple[Floats, Floats]:
    """Draw the mean of the effective dimensions, which is also the plane, and their standard deviations."""
    generator = np.random.default_rng([SEED, PLANE])
    return generator.uniform(-1.0, 1.0, EFFECTIVE), np.sqrt(generator.uniform(0.5, 100.0, EFFECTIVE))


def _read(part: int, examples: int, limit: int | None) -> Iterator[Batch]:
    """Each block has its own seed and does not depend on the number of examples."""
    count = examples if limit is None else min(examples, limit)
    generators = (np.random.default_rng([SEED, part, block]) for block in range(-(-count // BLOCK)))
    return first(map(_block, generators), count)


def _block(generator: np.random.Generator) -> Batch:
    mean, deviations = plane()
    effective = generator.normal(mean, deviations, (BLOCK, EFFECTIVE))
    lots = generator.random((BLOCK, DIMENSIONS - EFFECTIVE))
    # Sorted, since the order that a partition leaves is undefined.
    noisy = np.sort(np.argpartition(lots, NOISY, axis=1)[:, :NOISY], axis=1) + EFFECTIVE
    columns = np.hstack([np.tile(np.arange(EFFECTIVE), (BLOCK, 1)), noisy]).ravel()
    noise = generator.normal(0.0, NOISE_DEVIATION, (BLOCK, NOISY))
    return Batch(
        starts=np.arange(BLOCK + 1) * (EFFECTIVE + NOISY),
        keys=KEYS[columns],
        values=np.hstack([effective, noise]).ravel(),
        labels=np.where((effective * mean).sum(axis=1) >= 0.0, 1.0, -1.0),
        names=named(NAMES, columns),
    )


SYNTHETIC: Final = Source(
    "synthetic", "Synthetic", (), partial(_read, TRAIN, TRAIN_EXAMPLES), partial(_read, TEST, TEST_EXAMPLES)
)
