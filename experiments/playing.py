"""One pass over examples, and a test of what was learnt."""

import time
from collections.abc import Iterable
from typing import NamedTuple

import msgspec
import numpy as np

from app.learning.config import config_of
from app.learning.model import Model
from experiments.learners import Setting
from experiments.stored import Block
from kernels.arrays import Floats

MAX_FEATURES = 1 << 27


class Run(msgspec.Struct, frozen=True):
    """What one pass came to; `balanced` is None where the test has one class only."""

    sparsity: float  # features with weight 0, of all that were met
    error: float
    balanced: float | None
    features: int
    seconds: float  # of learning alone


class Learnt(NamedTuple):
    """A model after one pass."""

    model: Model
    seconds: float  # of the kernels
    losses: float  # share of the examples whose margin was below 1 before they were learnt


def learn(setting: Setting, blocks: Iterable[Block]) -> Learnt:
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


def play(setting: Setting, train: Iterable[Block], test: Iterable[Block]) -> Run:
    """Learn one set, then be tested on another one."""
    model, seconds, _ = learn(setting, train)
    error, balanced = tested(model, test)
    return Run(sparsity_of(model), error, balanced, model.features, seconds)


def sparsity_of(model: Model) -> float:
    """Share of the features met whose weight is 0, under the last lambda."""
    return float((model.survey().weights == 0.0).mean()) if model.features else 0.0


def tested(model: Model, blocks: Iterable[Block]) -> tuple[float, float | None]:
    """Error rate and balanced accuracy."""
    found = [(block.labels, model.scores(block.starts, block.keys, block.values)) for block in blocks]
    labels, scores = (np.concatenate(column) for column in zip(*found, strict=True))
    return rates(labels, scores, model.threshold)


def rates(labels: Floats, scores: Floats, threshold: float = 0.0) -> tuple[float, float | None]:
    """Error rate and balanced accuracy of verdicts by these scores."""
    positive, said = labels > 0.0, scores > threshold
    recalls = [float((said[of] == which).mean()) for which, of in ((True, positive), (False, ~positive)) if of.any()]
    error = float((said != positive).mean())
    return error, sum(recalls) / 2 if len(recalls) == 2 else None
