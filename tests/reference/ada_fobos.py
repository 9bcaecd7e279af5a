"""Ada-FOBOS: the composite mirror descent update with diagonal matrices of Duchi, Hazan and Singer (2011)."""

import numpy as np

from .dense import Config, Floats, Reference, quotient, soft


class AdaFobos(Reference):
    """FOBOS whose step has its own size per coordinate, eta / H with H = delta + sqrt(G)."""

    def __init__(self, config: Config, dimension: int) -> None:
        """Start from w = 0 and G = 0."""
        super().__init__(config, dimension)
        self.w = np.zeros(self.size)
        self.squares = np.zeros(self.size)

    def _w(self) -> Floats:
        return self.w

    def _h(self) -> Floats:
        return self._delta + np.sqrt(self.squares)

    def _update(self, x: Floats, label: int, score: float) -> None:
        if self._loses(label, score):
            self.squares = self.squares + x**2
            self.w = self.w + quotient(self._eta * label * x, self._h())
        if self.target is None:
            self._shrink(self._lambda_t())

    def _sizes(self) -> Floats:
        return np.abs(self.w) * self._h() / self._eta

    def _hit_target(self, size: float) -> None:
        self._shrink(size)

    def _shrink(self, by: float) -> None:
        self.w = soft(self.w, quotient(np.full(self.size, self._eta * by), self._h()))
