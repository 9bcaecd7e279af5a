"""Ada-RDA: the primal-dual update with diagonal matrices of Duchi, Hazan and Singer (2011)."""

import numpy as np

from .dense import Config, Floats, Reference, quotient, soft


class AdaRda(Reference):
    """Dual averaging with w = eta soft(theta, lambda_t) / (delta + sqrt(G))."""

    def __init__(self, config: Config, dimension: int) -> None:
        """Start from theta = 0 and G = 0."""
        super().__init__(config, dimension)
        self.theta = np.zeros(self.size)
        self.squares = np.zeros(self.size)

    def _forget(self) -> None:
        self.theta = self._gamma * self.theta
        self.squares = self._gamma * self.squares

    def _w(self) -> Floats:
        return quotient(self._eta * soft(self.theta, self._lambda_t()), self._delta + np.sqrt(self.squares))

    def _update(self, x: Floats, label: int, score: float) -> None:
        if self._loses(label, score):
            self.theta = self.theta + label * x
            self.squares = self.squares + x**2

    def _sizes(self) -> Floats:
        return np.abs(self.theta)
