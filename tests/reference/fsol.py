"""FSOL and CS-FSOL: (Cost-Sensitive) First Order Sparse Online Learning, Algorithms 3 and 6 of the paper."""

import numpy as np

from .dense import Config, Floats, Reference, soft


class Fsol(Reference):
    """Dual averaging with w = soft(theta, lambda_t); the cost is 1 here."""

    def __init__(self, config: Config, dimension: int) -> None:
        """Start from theta = 0."""
        super().__init__(config, dimension)
        self.theta = np.zeros(self.size)

    def _forget(self) -> None:
        self.theta = self._gamma * self.theta

    def _w(self) -> Floats:
        return soft(self.theta, self._lambda_t())

    def _update(self, x: Floats, label: int, score: float) -> None:
        if self._loses(label, score):
            self.theta = self.theta + self._eta * self._cost(label) * label * x

    def _sizes(self) -> Floats:
        return np.abs(self.theta)


class CsFsol(Fsol):
    """FSOL with a step of eta c."""

    knows_costs = True
