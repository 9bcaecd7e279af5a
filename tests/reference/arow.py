"""AROW with a diagonal matrix: Crammer, Kulesza and Dredze, Adaptive Regularization of Weight Vectors (2009)."""

import numpy as np

from .dense import Config, Floats, Reference
from .ssol import shared


class Arow(Reference):
    """Learns only with a loss: w by the confidence of each coordinate, then the confidence itself."""

    def __init__(self, config: Config, dimension: int) -> None:
        """Start from w = 0 and A^-1 = I."""
        super().__init__(config, dimension)
        self.w = np.zeros(self.size)
        self.a = np.ones(self.size)

    def _w(self) -> Floats:
        return self.w

    def _update(self, x: Floats, label: int, score: float) -> None:
        if self._loses(label, score):
            v = float(np.sum(self.a * x**2))
            self.w = self.w + (1.0 - label * score) / (self._r + v) * label * self.a * x
            self.a = shared(self.a, x, self._r)
