"""CS-OGD: Cost-Sensitive Online Gradient Descent, Wang, Zhao and Hoi, Cost-Sensitive Online Classification (2014)."""

import numpy as np

from .dense import Config, Floats, Reference


class CsOgd(Reference):
    """Gradient descent on the hinge loss with a step of eta c."""

    knows_costs = True

    def __init__(self, config: Config, dimension: int) -> None:
        """Start from w = 0."""
        super().__init__(config, dimension)
        self.w = np.zeros(self.size)

    def _w(self) -> Floats:
        return self.w

    def _update(self, x: Floats, label: int, score: float) -> None:
        if self._loses(label, score):
            self.w = self.w + self._eta * self._cost(label) * label * x
