"""FOBOS with the l1 norm: Duchi and Singer, Efficient Learning using Forward-Backward Splitting (2009)."""

import math

import numpy as np

from .dense import Config, Floats, Reference, soft


class Fobos(Reference):
    """A gradient step forward, then the whole vector is shrunk; both with eta / sqrt(t)."""

    def __init__(self, config: Config, dimension: int) -> None:
        """Start from w = 0."""
        super().__init__(config, dimension)
        self.w = np.zeros(self.size)

    def _w(self) -> Floats:
        return self.w

    def _update(self, x: Floats, label: int, score: float) -> None:
        eta_t = self._eta / math.sqrt(self.t)
        if self._loses(label, score):
            self.w = self.w + eta_t * label * x
        if self.target is None:
            self.w = soft(self.w, eta_t * self._lambda_t())

    def _sizes(self) -> Floats:
        return np.abs(self.w)

    def _hit_target(self, size: float) -> None:
        self.w = soft(self.w, size)
