"""The paper's synthetic set: 100 dimensions that tell the label, and 900 of which 200 at a time are noise.

What the paper leaves open, and what is taken here:
- "Covariance ... from 0.5 to 100" is the diagonal of a covariance matrix: variances.
- N(0, 100): by the usual notation 100 is the variance, so noise deviates by 10. `noise_deviation=100.0` is the other
  reading; noise is then some fourteen times as large as what tells the label.
- "The split plane the same as the mean vector": the label is the sign of mean . x, so the plane passes through the
  origin and not through the middle of the examples. About four in five fall on the positive side.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from app.datasets.batch import Batch
from experiments.sets.columns import ColumnNames, keys_of, numbered
from experiments.sets.source import Source, first
from kernels.arrays import Floats, Ints

TRAIN_EXAMPLES: Final = 100_000
TEST_EXAMPLES: Final = 10_000
DIMENSIONS: Final = 1_000
EFFECTIVE: Final = 100  # the first dimensions
NOISY: Final = 200  # of the others, in each example
BLOCK: Final = 1_000  # examples that are made at once

NAMES: Final = numbered(DIMENSIONS)
KEYS: Final = keys_of(NAMES)
PLANE, TRAIN, TEST = range(3)  # what is drawn: each has its own random numbers


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a synthetic set is made by."""

    seed: int = 0
    noise_deviation: float = 10.0

    def plane(self) -> tuple[Floats, Floats]:
        """The mean of the effective dimensions, which is also the plane, and their standard deviations."""
        generator = np.random.default_rng([self.seed, PLANE])
        return generator.uniform(-1.0, 1.0, EFFECTIVE), np.sqrt(generator.uniform(0.5, 100.0, EFFECTIVE))

    def blocks(self, part: int, examples: int) -> Iterator[Batch]:
        """Yield the examples of a part; each block has its own seed, so that none depends on how many are asked for."""
        for block in range(-(-examples // BLOCK)):
            yield self._block(np.random.default_rng([self.seed, part, block]))

    def _block(self, generator: np.random.Generator) -> Batch:
        mean, deviations = self.plane()
        effective = generator.normal(mean, deviations, (BLOCK, EFFECTIVE))
        columns = np.hstack([np.tile(np.arange(EFFECTIVE), (BLOCK, 1)), _noisy_columns(generator)])
        noise = generator.normal(0.0, self.noise_deviation, (BLOCK, NOISY))
        return Batch(
            starts=np.arange(BLOCK + 1) * (EFFECTIVE + NOISY),
            keys=KEYS[columns.ravel()],
            values=np.hstack([effective, noise]).ravel(),
            labels=np.where((effective * mean).sum(axis=1) >= 0.0, 1.0, -1.0),
            names=ColumnNames(NAMES, columns.ravel()),
        )


def synthetic(recipe: Recipe = Recipe()) -> Source:  # noqa: B008 - it is frozen
    """The set that a recipe makes."""
    return Source(
        name="synthetic",
        title="Synthetic",
        text=(
            "The paper's synthetic set, made anew by its description: 100 of 1,000 dimensions tell the label, and each "
            "example has noise in 200 others. The plane passes through the origin, so about four in five are positive."
        ),
        files=(),
        train=partial(_read, recipe, TRAIN, TRAIN_EXAMPLES),
        test=partial(_read, recipe, TEST, TEST_EXAMPLES),
    )


def _noisy_columns(generator: np.random.Generator) -> Ints:
    """For each example, dimensions at random; sorted, because in which order a partition leaves them is not defined."""
    lots = generator.random((BLOCK, DIMENSIONS - EFFECTIVE))
    return np.sort(np.argpartition(lots, NOISY, axis=1)[:, :NOISY], axis=1) + EFFECTIVE


def _read(recipe: Recipe, part: int, examples: int, limit: int | None) -> Iterator[Batch]:
    count = examples if limit is None else min(examples, limit)
    return first(recipe.blocks(part, count), count)
