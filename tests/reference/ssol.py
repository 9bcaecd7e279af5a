"""SSOL and CS-SSOL: (Cost-Sensitive) Diagonal Second Order Sparse Online Learning, Algorithms 5 and 7 of the paper."""

import numpy as np

from .dense import Config, Floats, Reference, soft


class Ssol(Reference):
    """Dual averaging with u = a theta, a the diagonal of A^-1, and w = soft(u, lambda_t); the cost is 1 here."""

    def __init__(self, config: Config, dimension: int) -> None:
        """Start from theta = 0 and A^-1 = I."""
        super().__init__(config, dimension)
        self.theta = np.zeros(self.size)
        self.a = np.ones(self.size)

    def _forget(self) -> None:
        self.theta = self._gamma * self.theta
        self.a = np.minimum(1.0, self.a / self._gamma)

    def _receive(self, x: Floats) -> None:
        change = shared if self.config["denominator"] == "shared" else coordinate
        self.a = change(self.a, x, self._r)

    def _w(self) -> Floats:
        if self.config["threshold_on"] == "theta":
            return self.a * soft(self.theta, self._lambda_t())
        return soft(self.a * self.theta, self._lambda_t())

    def _update(self, x: Floats, label: int, score: float) -> None:
        if self._loses(label, score):
            self.theta = self.theta + self._eta * self._cost(label) * label * x

    def _sizes(self) -> Floats:
        return np.abs(self.theta if self.config["threshold_on"] == "theta" else self.a * self.theta)


def shared(a: Floats, x: Floats, r: float) -> Floats:
    """Return the a after x, with the paper's denominator r + x' A^-1 x for all coordinates."""
    q = float(np.sum(a * x**2))
    return a * ((r + np.maximum(q - a * x**2, 0.0)) / (r + q))


def coordinate(a: Floats, x: Floats, r: float) -> Floats:
    """Return the a after x, with the denominator r + a x^2 of each coordinate alone."""
    return a * (r / (r + a * x**2))


class CsSsol(Ssol):
    """SSOL with a step of eta c; the costs do not enter A^-1."""

    knows_costs = True
