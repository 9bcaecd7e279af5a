"""Sets that scikit-learn ships, one class against the rest, with the values as a caller of the service gives them."""

from collections.abc import Iterator
from functools import partial
from importlib import import_module
from typing import Final

import numpy as np

from app.datasets.batch import Batch
from experiments.sets.source import Source, batch_of, first

SEED: Final = 1
PACKAGE: Final = "sklearn.datasets"  # only the benchmarks install it


def _read(name: str, anomaly: int, limit: int | None) -> Iterator[Batch]:
    """Shuffle: wine is in order of class."""
    found = getattr(import_module(PACKAGE), f"load_{name}")()
    order = np.random.default_rng(SEED).permutation(len(found.data))
    labels = np.where(found.target[order] == anomaly, 1.0, -1.0)
    names = [str(each) for each in found.feature_names]
    yield from first([batch_of(found.data[order], labels, names, with_zeros=True)], limit)


BREAST_CANCER: Final = Source("breast-cancer", "Breast cancer: malignant", (), partial(_read, "breast_cancer", 0))
WINE: Final = Source("wine", "Wine: the third cultivar", (), partial(_read, "wine", 2))
DIGITS: Final = Source("digits", "Digits: the eight", (), partial(_read, "digits", 8))
