"""A naive twin of `kernels/evaluation/curve.py`: every label is kept, and all is computed again at each."""

import math
from dataclasses import dataclass, field

import numpy as np

from kernels.arrays import Floats

BINS, EDGE, FADING = 160, 2.5, 0.998


@dataclass
class Curve:
    target: str
    value: float
    threshold: float | None = None
    scale: float = 1.0
    level: float = 0.0
    weighted: bool = False
    seen: list[tuple[int, float]] = field(default_factory=list)  # class and weight
    histograms: list[Floats] = field(default_factory=lambda: [np.zeros(BINS), np.zeros(BINS)])
    latest: float = 0.0
    advances: list[tuple[float, float]] = field(default_factory=list)  # of the time, and the items in it

    def observe(self, label: float, score: float, weight: float, verdict: float, at: float) -> None:
        if weight > 0.0:
            if not self.weighted:
                self.weighted, self.seen, self.level = True, [], 0.0
                self.histograms = [np.zeros(BINS), np.zeros(BINS)]
            if self.latest:
                self.advances.append((max(at - self.latest, 0.0), weight))
            self.latest = max(at, self.latest)
        elif self.weighted:
            return
        c, weight = int(label > 0), weight or 1.0
        self._correct(c, weight, verdict)
        self.seen.append((c, weight))
        self.histograms[c] *= FADING
        place = (score / self.scale + EDGE) / (2 * EDGE) * BINS
        self.histograms[c][int(np.clip(place, 0, BINS - 1))] += weight
        self._fit_range()
        self._choose()

    def _correct(self, c: int, weight: float, verdict: float) -> None:
        wanted = {("false_positive_rate", 0): self.value, ("sensitivity", 1): 1.0 - self.value}.get((self.target, c))
        weights = [each for kind, each in self.seen if kind == c]
        if wanted is None or self.threshold is None or not weights:
            return
        mean = self.histograms[c].sum() / (FADING ** np.arange(len(weights))).sum()
        wrong = (verdict > 0) != (c == 1)
        self.level = float(np.clip(self.level + 0.025 / wanted * weight / mean * (wanted - wrong), -3.0, 3.0))

    def _fit_range(self) -> None:
        normal, anomaly = self.histograms
        inner = slice(BINS // 2 - 16, BINS // 2 + 16)
        if normal[-1] > 0.002 * normal.sum() or anomaly[0] > 0.002 * anomaly.sum():
            self.scale *= 2.0
            self.histograms = [np.pad(each.reshape(-1, 2).sum(1), BINS // 4) for each in self.histograms]
        elif all(each.sum() - each[inner].sum() <= 0.0005 * each.sum() for each in self.histograms):
            self.scale *= 0.5
            self.histograms = [self._widened(each) for each in self.histograms]

    @staticmethod
    def _widened(histogram: Floats) -> Floats:
        middle = np.repeat(histogram[BINS // 4 : 3 * BINS // 4] / 2.0, 2)
        middle[0] += histogram[: BINS // 4].sum()
        middle[-1] += histogram[3 * BINS // 4 :].sum()
        return middle

    def _choose(self) -> None:
        labels = [sum(kind == c for kind, _ in self.seen) for c in range(2)]
        if self.target == "false_positive_rate" and labels[0] >= 30:
            self._set(self._at_share(self.histograms[0], self.value * math.exp(self.level)))
        if self.target == "sensitivity" and labels[1] >= 30:
            self._set(self._at_share(self.histograms[1], 1.0 - (1.0 - self.value) * math.exp(self.level)))
        if self.target == "precision" and min(labels) >= 30:
            self._set(self._at_precision())
        if self.target == "reviews_per_day" and sum(labels) >= 30 and any(time > 0.0 for time, _ in self.advances):
            fading = 0.999 ** np.arange(len(self.advances))[::-1]
            span, served = fading @ np.array(self.advances)
            self._set(self._at_share(self.items().sum(0), self.value / (served / span * 86_400_000)))

    def _set(self, place: float) -> None:
        self.threshold = self.scale * (place / BINS * 2 * EDGE - EDGE)

    def items(self) -> Floats:
        fading = 0.9998 ** np.arange(len(self.seen))[::-1]
        kinds, weights = np.array(self.seen).T
        masses = [(fading * weights)[kinds == c].sum() for c in range(2)]
        return np.array(
            [mass * each / max(each.sum(), 1e-300) for mass, each in zip(masses, self.histograms, strict=True)]
        )

    @staticmethod
    def _at_share(density: Floats, share: float) -> float:
        """Between two boundaries of bins, what lies above falls evenly."""
        above = np.concatenate([[0.0], np.cumsum(density[::-1])])
        wanted = min(max(share, 0.0) * density.sum(), above[-1])
        if wanted >= above[-1]:
            return 0.0
        last = int(np.flatnonzero(above <= wanted)[-1])
        return float(BINS - last - (wanted - above[last]) / (above[last + 1] - above[last]))

    def _at_precision(self) -> float:
        normal, anomaly = self.items()[:, ::-1]
        found = np.concatenate([[0.0], np.cumsum(anomaly)])
        flagged = found + np.concatenate([[0.0], np.cumsum(normal)])
        surplus = found - self.value * flagged
        if surplus[-1] >= 0.0:
            return 0.0
        falls = [b for b in range(BINS) if found[b] > 0.0 and surplus[b] >= 0.0 > surplus[b + 1]]
        if falls:
            b = falls[-1]
            return float(BINS - b - surplus[b] / (surplus[b] - surplus[b + 1]))
        precision = np.where(found > 0.0, found / np.maximum(flagged, 1e-300), -1.0)
        return float(BINS - int(precision.argmax()))
