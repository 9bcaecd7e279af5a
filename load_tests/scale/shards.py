"""How tenants fall on shards: how popular each is, on which hash tag it lies, and how many shards that takes."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from app.storage.redis_keys import SHARDS
from kernels.arrays import Floats, Ints
from load_tests.cluster.slots import SLOT_OF_SHARD, SLOTS
from load_tests.harness.sizes import SEED
from load_tests.harness.traffic import zipf

HALVINGS = 60
LONGEST = 1e18  # requests: by then every tenant had one
MOST = len(SHARDS)  # all keys of a tag lie in one slot, so a shard without a tag has nothing to do

Placement = Callable[[int], Ints]  # on which of so many shards each tag lies


@dataclass(frozen=True, slots=True)
class Popularity:
    """The share of each tenant in all requests, the most popular first; and the hash tag that it has."""

    shares: Floats
    tags: Ints

    @classmethod
    def of(cls, tenants: int) -> "Popularity":
        """By Zipf's law: the k-th gets 1/k as many requests as the first. Tags are drawn, as good as by a hash."""
        return cls(zipf(tenants), np.random.default_rng(SEED).integers(MOST, size=tenants))

    @property
    def hottest(self) -> float:
        """The share of the first."""
        return float(self.shares[0])

    def distinct(self, requests: float) -> float:
        """How many different tenants so many requests are expected to have."""
        return float(-np.expm1(-requests * self.shares).sum())

    def misses(self, held: float) -> float:
        """The share of requests whose tenant is not in memory, if that has room for so many, least recently used out.

        Che's approximation: a tenant is there if one of the last so many requests was for it; so many have as many
        different tenants as there is room for.
        """
        if held >= self.shares.size:
            return 0.0
        low, high = 1.0, LONGEST
        for _ in range(HALVINGS):
            middle = math.sqrt(low * high)
            low, high = (middle, high) if self.distinct(middle) < held else (low, middle)
        return float((self.shares * np.exp(-high * self.shares)).sum())

    def by_tag(self, weights: Floats) -> Floats:
        """The share of each tag in what the tenants weigh."""
        return np.bincount(self.tags, weights, MOST).astype(np.float64) / float(weights.sum())


def tag_by_tag(shards: int) -> Ints:
    """As many tags to each shard, which takes moving their slots by hand."""
    return np.arange(MOST) * shards // MOST


def by_ranges(shards: int) -> Ints:
    """As many slots to each shard, in order, as a new cluster has them: tags are not even then."""
    return np.array(list(SLOT_OF_SHARD.values()), np.int64) * shards // SLOTS


@dataclass(frozen=True, slots=True)
class Need:
    """How many stores would do if everything were spread evenly, and how it is spread over the 256 tags."""

    stores: float
    tags: Floats  # shares

    def fullest(self, shards: int, placement: Placement = tag_by_tag) -> float:
        """How many stores' work the fullest of so many shards has."""
        return float(self.stores * np.bincount(placement(shards), self.tags, shards).max())


def shards_for(needs: Iterable[Need], placement: Placement = tag_by_tag) -> int | None:
    """The fewest shards of which none has more to do than one store may; None if there are none."""
    some = list(needs)
    fitting = (shards for shards in range(1, MOST + 1) if all(need.fullest(shards, placement) <= 1.0 for need in some))
    return next(fitting, None)
