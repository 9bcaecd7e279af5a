"""PAUM: Li, Zaragoza, Herbrich, Shawe-Taylor and Kandola, The Perceptron Algorithm with Uneven Margins (2002)."""

import numpy as np

from .dense import Config, Floats, Reference


class Paum(Reference):
    """A perceptron with a margin of c for each class and an offset b of its own."""

    knows_costs = True

    def __init__(self, config: Config, dimension: int) -> None:
        """Start from w = 0 and b = 0."""
        super().__init__(config, dimension)
        self.w = np.zeros(self.size)
        self.b = 0.0
        self.largest = 0.0

    def _w(self) -> Floats:
        return self.w

    def _predict(self, x: Floats) -> float:
        return float(self.w @ x) + self.b

    def _update(self, x: Floats, label: int, score: float) -> None:
        self.largest = max(self.largest, float(x @ x))
        if label * score <= self._cost(label):
            self.w = self.w + self._eta * label * x
            self.b += self._eta * label * self.largest
