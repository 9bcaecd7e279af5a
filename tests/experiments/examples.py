"""Small sets for the tests of the experiments."""

from pathlib import Path

import numpy as np

from app.datasets.batch import Batch
from experiments.examples import store
from experiments.preparation import TRAIN
from experiments.sets.news import NoNames


def batch(examples: int, seed: int = 0, features: int = 50, nonzeros: int = 8) -> Batch:
    """Examples that a linear model can tell apart, but for one in twenty."""
    generator = np.random.default_rng(seed)
    plane = np.random.default_rng(99).normal(size=features)
    chosen = np.array([generator.choice(features, nonzeros, replace=False) for _ in range(examples)])
    values = generator.normal(size=chosen.shape)
    labels = np.where((values * plane[chosen]).sum(axis=1) > 0.0, 1.0, -1.0)
    labels[generator.random(examples) < 0.05] *= -1.0
    return Batch(
        starts=np.arange(examples + 1) * nonzeros,
        keys=(chosen.ravel().astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15),
        values=values.ravel(),
        labels=labels,
        names=NoNames(),
    )


def stored_set(folder: Path, examples: int = 600) -> Path:
    """A set on disk, without a test of its own."""
    store(batch(examples).split(100), folder / TRAIN)
    return folder
