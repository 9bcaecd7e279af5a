"""Random logs: feedback with some changes of configuration and removals in between."""

import numpy as np
from hypothesis import strategies as st

from app.learning.events import Event, FeaturesRemoved, FeedbackGiven, TenantConfigured
from app.learning.example import example_of
from kernels.registry import ALGORITHMS
from tests.streams import named, random_stream


def random_log(seed: int, algorithm: str = "cs-ssol", length: int = 120, *, restless: bool = True) -> list[Event]:
    rng = np.random.default_rng(seed)
    log: list[Event] = [TenantConfigured({"algorithm": algorithm})]
    for x, label in random_stream(seed, length, dimension=int(rng.integers(31, 400)), active=30):
        log.append(FeedbackGiven(example_of(named(x)), label))
        if restless and rng.random() < 0.03:
            log.append(FeaturesRemoved(float(rng.uniform(0.0, 0.2)), float(rng.uniform(0.0, 2.0))))
        if restless and rng.random() < 0.03:
            log.append(TenantConfigured({"bias": bool(rng.integers(2)), "threshold": float(rng.normal())}))
        if restless and rng.random() < 0.01:
            log.append(TenantConfigured({"algorithm": str(rng.choice(list(ALGORITHMS)))}))
    return log


def logs() -> st.SearchStrategy[list[Event]]:
    return st.builds(random_log, st.integers(0, 2**32 - 1), st.sampled_from(list(ALGORITHMS)), st.integers(1, 60))
