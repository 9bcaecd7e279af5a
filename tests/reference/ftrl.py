"""FTRL-Proximal, Algorithm 1 of McMahan et al., Ad Click Prediction: a View from the Trenches (2013), with costs."""

import math

import numpy as np

from .dense import Config, Floats, Reference, quotient, soft

LARGEST_EXPONENT = 700.0


class Ftrl(Reference):
    """Logistic regression; eta is the publication's alpha, delta its beta, lambda its lambda_1, and lambda_2 is 0."""

    knows_costs = True

    def __init__(self, config: Config, dimension: int) -> None:
        """Start from z = 0 and n = 0."""
        super().__init__(config, dimension)
        self.z = np.zeros(self.size)
        self.n = np.zeros(self.size)

    def _forget(self) -> None:
        self.z = self._gamma * self.z
        self.n = self._gamma * self.n

    def _w(self) -> Floats:
        return -quotient(soft(self.z, self._lambda_t()), (self._delta + np.sqrt(self.n)) / self._eta)

    def _update(self, x: Floats, label: int, score: float) -> None:
        # Beyond the largest exponent p is 0 to every digit that matters, and exp would overflow.
        p = 1.0 / (1.0 + math.exp(min(-score, LARGEST_EXPONENT)))
        g = self._cost(label) * (p - (label == 1)) * x
        sigma = (np.sqrt(self.n + g**2) - np.sqrt(self.n)) / self._eta
        self.z = self.z + g - sigma * self._w()
        self.n = self.n + g**2

    def _sizes(self) -> Floats:
        return np.abs(self.z)
