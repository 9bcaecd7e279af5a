"""CS-SOL: the general algorithm of the paper with an adaptive quadratic Phi_t and the squared hinge, ended at 2."""

import numpy as np

from .dense import Config, Floats, Reference, soft


class CsSol(Reference):
    """Dual averaging with w = soft(theta, lambda_t) / (delta + sqrt(G)), on values that are damped by frequency."""

    knows_costs = True
    imbalance_halved = 1000.0

    def __init__(self, config: Config, dimension: int) -> None:
        """Start from theta = 0, G = 0, and no feature seen."""
        super().__init__(config, dimension)
        self.theta = np.zeros(self.size)
        self.stored = np.zeros(self.size)  # G, before it was discounted
        self.scale = 1.0
        self.counts = np.zeros(self.size)
        self.lately = self.before = 0.5  # shares of wrong signs

    def _forget(self) -> None:
        self._discount(self._gamma)

    def _discount(self, factor: float) -> None:
        self.theta = factor * self.theta
        self.scale *= factor
        if self.scale < 2.0**-200:
            self.stored, self.scale = _rounded(self.stored * self.scale), 1.0

    def _damped(self, x: Floats) -> Floats:
        damped = x * (self.counts + 10.0) ** -0.25
        length = np.linalg.norm(damped)
        return damped * (np.linalg.norm(x) / length) if length > 0.0 else damped

    def _w(self) -> Floats:
        """Return the weights as people read them: those of damped values, times the damping."""
        return self._plain_w() * (self.counts + 10.0) ** -0.25

    def _plain_w(self) -> Floats:
        cut = soft(self.theta, self._lambda_t())
        if self.target is not None:
            cut = np.where(np.abs(self.theta) > self._lambda_t(), self.theta, 0.0)
        return cut / (self._delta + np.sqrt(self.stored * self.scale))

    def _predict(self, x: Floats) -> float:
        return float(self._plain_w() @ self._damped(x))

    def _update(self, x: Floats, label: int, score: float) -> None:
        wrong = float(label * score < 0.0)
        self.lately += (wrong - self.lately) / 64.0
        self.before += (wrong - self.before) / 1024.0
        self._discount(1.0 - 0.2 * max(self.lately - self.before - 0.3, 0.0))
        gradient = 2.0 * min(max(1.0 - label * score, 0.0), 2.0) * self._damped(x)
        self.theta = self.theta + self._eta * self._cost(label) * label * gradient
        self.stored = _rounded(self.stored + gradient**2 / self.scale)
        self.counts = self.counts + (x != 0.0)

    def _sizes(self) -> Floats:
        return np.abs(self.theta)


def _rounded(squares: Floats) -> Floats:
    """Keep 32 bits of the fraction: the kernel stores the count in the others."""
    return (squares.view(np.uint64) & ~np.uint64((1 << 20) - 1)).view(np.float64)
