"""A slow encoding of numbers: plain Python, with a dict in place of the table of statistics."""

import math

MASK = (1 << 64) - 1
ZERO, OCTAVE, QUARTER, DEVIATION = range(4)


class Numbers:
    def __init__(self) -> None:
        self.statistics: dict[int, tuple[float, float, float]] = {}  # by key: count, mean, squared distances

    def encode(self, example: list[tuple[int, float]], given: int) -> list[tuple[int, float]]:
        numbers = sum(value not in {0.0, 1.0} for _, value in example[:given])
        root = math.sqrt(max(numbers, 1))
        encoded = [self._features(key, value, root) for key, value in example[:given]]
        return [feature for features in encoded for feature in features] + example[given:]

    def learn(self, example: list[tuple[int, float]], given: int) -> None:
        for key, value in example[:given]:
            if value not in {0.0, 1.0}:
                count, mean, squares = self.statistics.get(key, (0.0, 0.0, 0.0))
                after = mean + (value - mean) / (count + 1.0)
                self.statistics[key] = (count + 1.0, after, squares + (value - mean) * (value - after))

    def _features(self, key: int, value: float, root: float) -> list[tuple[int, float]]:
        count, mean, squares = self.statistics.get(key, (0.0, 0.0, 0.0))
        most = min(1.0, 4.0 / root)
        if value == 1.0:
            return [(key, 1.0)]
        if value == 0.0:
            return [(bin_key(key, ZERO, 0, 0), most)] if count else []
        size = max(most * min(1.0, abs(value)), 0.5 / root)
        sign = int(value < 0.0)
        mantissa, exponent = math.frexp(abs(value))
        octave = min(max(exponent - 1 + 32 + (2.0 * mantissa - 1.0), 0.0), 96.0)
        features = [(key, max(min(value, 1.0), -1.0))]
        features += shares(key, OCTAVE, sign, octave, size)
        features += shares(key, QUARTER, sign, 4.0 * octave, size)
        if count >= 2.0 and squares / count > 0.0:
            deviation = (value - mean) / math.sqrt(squares / count)
            features += shares(key, DEVIATION, 0, min(max(deviation, -8.0), 8.0) + 8.0, size)
        return features


def shares(key: int, kind: int, sign: int, place: float, size: float) -> list[tuple[int, float]]:
    fraction, whole = math.modf(place)
    lower, upper = bin_key(key, kind, sign, int(whole)), bin_key(key, kind, sign, int(whole) + 1)
    return [(lower, size * (1.0 - fraction)), (upper, size * fraction)] if fraction else [(lower, size)]


def bin_key(key: int, kind: int, sign: int, place: int) -> int:
    x = key ^ (((2 * kind + sign) * 512 + place) * 0x9E3779B97F4A7C15 & MASK)
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
    return x ^ (x >> 31) or 1
