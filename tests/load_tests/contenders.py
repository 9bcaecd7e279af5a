"""A contender whose scores are known beforehand."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from load_tests.quality.contenders.contender import Options, Played
from load_tests.quality.stream import Stream


@dataclass
class Oracle:
    """Is right about the share of examples that its setting names; notes how long the streams were that it played."""

    name: str = "oracle"
    limit: int | None = None
    tuned_on: int | None = None
    lengths: list[int] = field(default_factory=list)

    def seconds(self, examples: int, nonzeros: int) -> float:
        return 1e-3 * examples + 0.0 * nonzeros

    def settings(self, *, rare: bool) -> Sequence[Options]:
        return [{"right": 0.6}, {"right": 0.9 if rare else 1.0}, {"right": 0.5}]

    def play(self, stream: Stream, settings: Sequence[Options]) -> list[Played]:
        self.lengths.append(len(stream))
        return [Played(stream.labels * self._truth(len(stream), options), sparsity=0.5) for options in settings]

    def _truth(self, count: int, options: Options) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return np.where(np.random.default_rng(0).random(count) < float(options["right"]), 1.0, -1.0)


def noise(examples: int, positives: float = 0.5) -> Stream:
    """Examples of one feature each."""
    labels = np.where(np.random.default_rng(1).random(examples) < positives, 1.0, -1.0)
    return Stream(np.arange(examples + 1), np.ones(examples, np.uint64), np.ones(examples), labels)
