"""SSOL and CS-SSOL with the full matrix: Second Order Sparse Online Learning, Algorithms 4 and 7 of the paper."""

import numpy as np

from .dense import Config, Floats, Reference, soft


class SsolFull(Reference):
    """Dual averaging with u = A^-1 theta and w = soft(u, lambda_t); the cost is 1 here."""

    def __init__(self, config: Config, dimension: int) -> None:
        """Start from theta = 0 and A^-1 = I."""
        super().__init__(config, dimension)
        self.theta = np.zeros(self.size)
        self.inverse = np.eye(self.size)

    def _receive(self, x: Floats) -> None:
        product = self.inverse @ x
        self.inverse = self.inverse - np.outer(product, product) / (self._r + x @ product)

    def _w(self) -> Floats:
        if self.config["threshold_on"] == "theta":
            return self.inverse @ soft(self.theta, self._lambda_t())
        return soft(self.inverse @ self.theta, self._lambda_t())

    def _update(self, x: Floats, label: int, score: float) -> None:
        if self._loses(label, score):
            self.theta = self.theta + self._eta * self._cost(label) * label * x

    def _sizes(self) -> Floats:
        return np.abs(self.theta if self.config["threshold_on"] == "theta" else self.inverse @ self.theta)


class CsSsolFull(SsolFull):
    """SSOL with the full matrix and a step of eta c; the costs do not enter A^-1."""

    knows_costs = True
