"""How long after a prediction a moderator labels it."""

import math

import numpy as np

SHIFT_MINUTES = 480.0  # a run stands for one
MEDIAN_MINUTES = 10.0
SPREAD = 1.5  # of the logarithm: one label in ten takes more than an hour, one in a hundred more than five


def delays(rng: np.random.Generator, how_many: int, run_seconds: float) -> list[float]:
    """Log-normal, as the times that people take are; scaled so that the shift fits into the run."""
    minutes = rng.lognormal(math.log(MEDIAN_MINUTES), SPREAD, how_many)
    scaled: list[float] = (minutes * run_seconds / SHIFT_MINUTES).tolist()
    return scaled
