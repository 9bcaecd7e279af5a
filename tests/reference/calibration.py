"""A naive twin of `kernels/evaluation/calibration.py`: every label is kept with its weight, and nothing is updated.

It recomputes everything from the beginning, with NumPy, at every label.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from kernels.arrays import Floats

BINS, EDGE = 160, 2.5
FADING = {"balanced": (0.995, 0.999), "error": (0.999, 0.9998), "cost": (0.999, 0.9998)}


@dataclass
class Calibration:
    objective: str = "balanced"
    cost_positive: float = 1.0
    cost_negative: float = 1.0
    threshold: float = 0.0
    scale: float = 1.0
    changed: float = 0.0
    histograms: list[Floats] = field(default_factory=lambda: [np.zeros(BINS), np.zeros(BINS)])
    seen: list[int] = field(default_factory=lambda: [0, 0])
    labels: list[int] = field(default_factory=list)
    inputs: list[float] = field(default_factory=list)  # for which each label stands

    def observe(self, label: float, score: float, chosen_with: float = 0.0) -> None:
        c = int(label > 0)
        fading = 0.9995 ** np.arange(len(self.labels))[::-1]
        mean = float(fading @ np.array(self.inputs) / fading.sum()) if self.inputs else 1.0 / (chosen_with or 1.0)
        self.inputs.append(float(np.clip(1.0 / chosen_with, mean / 100.0, mean * 100.0)) if chosen_with else mean)
        weight = self.inputs[-1] / mean
        self.seen[c] += 1
        self.labels.append(c)
        self.histograms[c] *= FADING[self.objective][self.seen[c] > self.seen[1 - c]]
        place = (score / self.scale + EDGE) / (2 * EDGE) * BINS
        self.histograms[c][int(np.clip(place, 0, BINS - 1))] += weight
        self.changed += weight / (self.histograms[c].sum() + 3.0)
        if self.changed >= 0.02 and min(self.seen) > 0:
            self.changed = 0.0
            self._fit_range()
            self.threshold = self._best()

    @property
    def share(self) -> float:
        weights = np.array(self.inputs) * 0.9995 ** np.arange(len(self.labels))[::-1]
        return float((weights @ np.array(self.labels) + 1.0) / (weights.sum() + 2.0))

    def density(self, c: int) -> Floats:
        found = self.histograms[c].copy()
        mass = found.sum()
        radius = 16 if mass <= 0 else min(16, math.floor(16.0 * mass**-0.2 + 1e-9))
        for _ in range(2):
            found = np.convolve(found, np.ones(2 * radius + 1))[radius : radius + BINS]
            found = found * mass / found.sum() if found.sum() > 0 else found
        return np.asarray((found + 3.0 / BINS) / (mass + 3.0))

    def _best(self) -> float:
        weights = {
            "balanced": (0.5, 0.5),
            "error": (self.share, 1.0 - self.share),
            "cost": (self.share * self.cost_positive, (1.0 - self.share) * self.cost_negative),
        }[self.objective]
        missing, alarming = np.array(weights) / sum(weights)
        missed = np.concatenate([[0.0], np.cumsum(self.density(1))])
        alarms = 1.0 - np.concatenate([[0.0], np.cumsum(self.density(0))])
        value = missing * missed + alarming * alarms
        errors = np.where(value <= value.min() + 0.0025, self.share * missed + (1.0 - self.share) * alarms, np.inf)
        return float(self.scale * (np.argmin(errors) / BINS * 2 * EDGE - EDGE))

    def _fit_range(self) -> None:
        normal, anomaly = self.histograms
        inner = slice(BINS // 2 - 16, BINS // 2 + 16)
        if normal[-1] > 0.05 * normal.sum() or anomaly[0] > 0.05 * anomaly.sum():
            self.scale *= 2.0
            self.histograms = [np.pad(each.reshape(-1, 2).sum(1), BINS // 4) for each in self.histograms]
        elif all(each.sum() - each[inner].sum() <= 0.01 * each.sum() for each in self.histograms):
            self.scale *= 0.5
            self.histograms = [_widened(each) for each in self.histograms]

    def probabilities(self) -> Floats:
        anomaly, normal = self.share * self.density(1), (1.0 - self.share) * self.density(0)
        return isotonic(anomaly / (anomaly + normal), anomaly + normal)


def isotonic(values: Floats, weights: Floats) -> Floats:
    """The least-squares fit that never falls: the largest mean to the left of the smallest mean to the right."""
    sums, totals = np.concatenate([[0.0], np.cumsum(values * weights)]), np.concatenate([[0.0], np.cumsum(weights)])
    means = np.array(
        [
            [(sums[j + 1] - sums[i]) / (totals[j + 1] - totals[i]) if j >= i else np.nan for j in range(values.size)]
            for i in range(values.size)
        ]
    )
    return np.array([max(np.nanmin(means[i, k:]) for i in range(k + 1)) for k in range(values.size)])


def _widened(histogram: Floats) -> Floats:
    """Split each of the inner bins in two; what lies outside goes to the ends."""
    middle = np.repeat(histogram[BINS // 4 : 3 * BINS // 4] / 2.0, 2)
    middle[0] += histogram[: BINS // 4].sum()
    middle[-1] += histogram[3 * BINS // 4 :].sum()
    return middle
