"""A slow ADWIN: buckets are lists of the errors themselves, and every sum is computed again."""

import math
from itertools import chain


class Adwin:
    def __init__(self) -> None:
        self.buckets: list[list[int]] = []  # oldest first
        self.seen = self.worse = self.better = self.last_worse = 0

    @property
    def window(self) -> list[int]:
        return list(chain(*self.buckets))

    def watch(self, error: int, examples: int) -> None:
        self.seen += 1
        self.buckets.append([error])
        size = 1
        while sum(len(bucket) == size for bucket in self.buckets) > 5:
            oldest = next(i for i, bucket in enumerate(self.buckets) if len(bucket) == size)
            self.buckets[oldest : oldest + 2] = [self.buckets[oldest] + self.buckets[oldest + 1]]
            size *= 2
        if self.seen % 32 == 0:
            self._look(examples)

    def _look(self, examples: int) -> None:
        rises = []
        while rise := self._rise():
            rises.append(rise)
            del self.buckets[0]
        if rises and rises[0] > 0.0:
            self.worse, self.last_worse = self.worse + 1, examples
        elif rises:
            self.better += 1

    def _rise(self) -> float | None:
        window = self.window
        start = 0
        for bucket in self.buckets:
            start += len(bucket)
            older, newer = window[:start], window[start:]
            if min(len(older), len(newer)) >= 5 and abs(rise := _mean(newer) - _mean(older)) > _bound(older, newer):
                return rise
        return None


def _bound(older: list[int], newer: list[int]) -> float:
    """Epsilon_cut of the paper, where a part counts for 4 fewer errors than it has."""
    window = older + newer
    mean = _mean(window)
    variance = sum((error - mean) ** 2 for error in window) / len(window)
    m = 1.0 / (1.0 / (len(older) - 4) + 1.0 / (len(newer) - 4))
    confidence = math.log(2.0 * math.log(len(window)) / 0.002)
    return math.sqrt(2.0 / m * variance * confidence) + 2.0 / (3.0 * m) * confidence


def _mean(errors: list[int]) -> float:
    return sum(errors) / len(errors)
