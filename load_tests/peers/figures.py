"""What was measured of one contender."""

import math
from dataclasses import dataclass, field
from statistics import median

import numpy as np

from kernels.arrays import Floats
from load_tests.peers.contenders.contender import Group
from load_tests.quality.rates import confusion, last_half


@dataclass(frozen=True, slots=True)
class Latency:
    """Of requests, in milliseconds."""

    p50: float
    p99: float


@dataclass(frozen=True, slots=True)
class Verdicts:
    """How good they were before learning; and on how many examples only one of the two, it or Sluice, was right."""

    balanced: float | None
    last_half: float | None
    only_it_right: int
    only_ours_right: int

    @property
    def chance(self) -> float:
        """How likely so large a difference is between two that are equally good: a sign test."""
        differing = self.only_it_right + self.only_ours_right
        if not differing:
            return 1.0
        excess = max(abs(self.only_it_right - self.only_ours_right) - 1.0, 0.0)
        return math.erfc(excess / math.sqrt(2.0 * differing))


@dataclass(frozen=True, slots=True)
class Played:
    """One stream over one connection: examples scored and learnt per second in each turn, and how long it took."""

    examples: int
    rates: list[float]
    predict: Latency | None  # None where feedback alone was asked for
    learn: Latency
    verdicts: Verdicts | None  # None for whoever knows nothing


@dataclass(frozen=True, slots=True)
class Loaded:
    """One kind of requests over many connections: examples per second in each round."""

    rates: list[float]
    latency: Latency


@dataclass(slots=True)
class Row:
    """One contender on one kind of input."""

    name: str
    group: Group
    beside: str
    same_work: str
    about: str
    ahead: str
    absent: str | None = None  # why it did not take part, or how it failed
    played: dict[str, Played] = field(default_factory=dict)  # by stream
    predicting: Loaded | None = None
    learning: Loaded | None = None


def rate(rates: list[float]) -> float:
    """That of a typical turn."""
    return median(rates)


def times(rates: list[float], others: list[float]) -> float:
    """How many times the other's rate; compared turn by turn, so that a noisy minute hits both."""
    return median(mine / theirs for mine, theirs in zip(rates, others, strict=True))


def latency(seconds: Floats) -> Latency | None:
    """None of nothing."""
    if not seconds.size:
        return None
    p50, p99 = np.percentile(1e3 * seconds, [50, 99]).tolist()
    return Latency(p50, p99)


def judged(labels: Floats, said: Floats, ours: Floats) -> Verdicts:
    """Count verdicts, each above 0 for an anomaly, beside those of Sluice."""
    right, ours_right = (said > 0.0) == (labels > 0.0), (ours > 0.0) == (labels > 0.0)
    return Verdicts(
        confusion(labels, said).balanced_accuracy,
        last_half(labels, said),
        int(np.count_nonzero(right & ~ours_right)),
        int(np.count_nonzero(~right & ours_right)),
    )
