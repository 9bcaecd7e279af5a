"""One pass over examples, and a test of what was learnt."""

import time
from collections.abc import Iterable
from typing import NamedTuple

import msgspec
import numpy as np

from app.learning.config import config_of
from app.learning.model import Model
from experiments.examples import Examples
from experiments.paper.protocol import Setting

MAX_FEATURES = 1 << 27


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


def learn(setting: Setting, blocks: Iterable[Examples]) -> Learnt:
    """Learn the examples once, in order."""
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
    """Learn the training examples once, then test."""
    model = learn(setting, train).model
    return Run(sparsity_of(model), *tested(model, test))


def sparsity_of(model: Model) -> float:
    """Return the share of the features met whose weight is 0 under the last lambda."""
    return float((model.survey().weights == 0.0).mean()) if model.features else 0.0


def tested(model: Model, blocks: Iterable[Examples]) -> tuple[float, float | None]:
    """Return error rate and balanced accuracy."""
    found = [(block.labels, model.scores(block.starts, block.keys, block.values)) for block in blocks]
    labels, scores = (np.concatenate(column) for column in zip(*found, strict=True))
    positive, said = labels > 0.0, scores > model.threshold
    recalls = [float((said[of] == which).mean()) for which, of in ((True, positive), (False, ~positive)) if of.any()]
    return float((said != positive).mean()), sum(recalls) / 2 if len(recalls) == 2 else None
