"""Who is asked how often, and what follows from it: how many are met, whom memory has, how full the tags are."""

import math
from dataclasses import dataclass

import numpy as np

from app.storage.redis_keys import SHARDS
from kernels.arrays import Floats, Ints
from load_tests.harness.traffic import zipf

SEED = 20_250_101
HALVINGS = 60
LONGEST = 1e18  # requests: by then everyone was met


@dataclass(frozen=True, slots=True)
class Popularity:
    """The share of each tenant in all requests, the most popular first; and the hash tag that it has."""

    shares: Floats
    tags: Ints

    @classmethod
    def of(cls, tenants: int) -> "Popularity":
        """By Zipf's law: the k-th is asked 1/k as often as the first. Tags are drawn, as good as by a hash."""
        return cls(zipf(tenants), np.random.default_rng(SEED).integers(len(SHARDS), size=tenants))

    @property
    def hottest(self) -> float:
        """The share of the first."""
        return float(self.shares[0])

    def met(self, requests: float) -> float:
        """How many different tenants so many requests are expected to meet."""
        return float(-np.expm1(-requests * self.shares).sum())

    def misses(self, held: float) -> float:
        """The share of requests whose tenant is not in memory, if that has room for so many, least recently used out.

        Che's approximation: a tenant is there if it was asked within the last so many requests, in which as many
        different tenants are met as there is room for.
        """
        if held >= self.shares.size:
            return 0.0
        low, high = 1.0, LONGEST
        for _ in range(HALVINGS):
            middle = math.sqrt(low * high)
            low, high = (middle, high) if self.met(middle) < held else (low, middle)
        return float((self.shares * np.exp(-high * self.shares)).sum())

    def by_tag(self, weights: Floats) -> Floats:
        """The share of each tag in what the tenants weigh."""
        return np.bincount(self.tags, weights, len(SHARDS)).astype(np.float64) / float(weights.sum())
