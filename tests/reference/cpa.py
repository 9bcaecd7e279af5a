"""CPA: cost-sensitive PA-I of Crammer et al., Online Passive-Aggressive Algorithms (2006)."""

import math

import numpy as np

from .dense import Config, Floats, Reference


class Cpa(Reference):
    """Moves just far enough for a margin of sqrt(c), with a step of eta at most."""

    knows_costs = True

    def __init__(self, config: Config, dimension: int) -> None:
        """Start from w = 0."""
        super().__init__(config, dimension)
        self.w = np.zeros(self.size)

    def _w(self) -> Floats:
        return self.w

    def _update(self, x: Floats, label: int, score: float) -> None:
        squared_norm = float(x @ x)
        if squared_norm == 0.0:
            return
        loss = max(0.0, math.sqrt(self._cost(label)) - label * score)
        self.w = self.w + min(self._eta, loss / squared_norm) * label * x
