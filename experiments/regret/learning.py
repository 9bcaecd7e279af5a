"""What a learner loses on a sequence, round by round."""

import numpy as np

from app.learning.config import config_of
from app.learning.model import Model
from experiments.regret.rounds import Rounds
from experiments.regret.theorems import LAMBDA, THEOREMS, R
from kernels.arrays import Floats
from kernels.feature_hash import key_of


def losses(algorithm: str, rounds: Rounds, eta: float) -> Floats:
    """The hinge loss of each round, with lambda_t as the theorem wants it."""
    count, dimensions = rounds.examples.shape
    model = Model(config_of(_setting(algorithm, eta)))
    keys = np.tile(np.array([key_of(str(place)) for place in range(dimensions)], np.uint64), count)
    starts = np.arange(count + 1, dtype=np.int64) * dimensions
    batch = model.canonical(starts, keys, np.ascontiguousarray(rounds.examples).reshape(-1))
    return np.maximum(0.0, 1.0 - rounds.labels * model.stream(*batch, rounds.labels))


def _setting(algorithm: str, eta: float) -> dict[str, float | str | bool | None]:
    setting: dict[str, float | str | bool | None] = {
        "algorithm": algorithm,
        "eta": eta,
        "lambda": LAMBDA,
        "lambda_schedule": THEOREMS[algorithm].schedule,
        "normalize": "none",  # they are bounded as the theorem wants it
    }
    return setting if algorithm == "fsol" else {**setting, "r": R}
