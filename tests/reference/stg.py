"""STG: the truncated gradient of Langford, Li and Zhang, Sparse Online Learning via Truncated Gradient (2009)."""

import numpy as np

from .dense import Config, Floats, Reference, soft


class Stg(Reference):
    """Stochastic gradient descent that truncates the small weights every K examples."""

    def __init__(self, config: Config, dimension: int) -> None:
        """Start from w = 0."""
        super().__init__(config, dimension)
        self.every = int(self._number("truncate_every"))
        self.below = self._number("truncate_below")
        self.w = np.zeros(self.size)

    def _w(self) -> Floats:
        return self.w

    def _update(self, x: Floats, label: int, score: float) -> None:
        if self._loses(label, score):
            self.w = self.w + self._eta * label * x
        if self.target is None and self.t % self.every == 0:
            self._truncate(self.every * self._eta * self._lambda_t())

    def _sizes(self) -> Floats:
        return np.abs(self.w)

    def _hit_target(self, size: float) -> None:
        self._truncate(size)

    def _truncate(self, by: float) -> None:
        self.w = np.where(np.abs(self.w) <= self.below, soft(self.w, by), self.w)
