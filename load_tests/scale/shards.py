"""How many shards a cluster needs where tenants are not alike: they lie on tags, tags on slots, slots on shards."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np
from redis.crc import key_slot

from app.storage.redis_keys import SHARDS
from kernels.arrays import Floats, Ints

SLOTS = 16_384
MOST = len(SHARDS)  # all keys of a tag lie in one slot, so that a shard without a tag would have nothing to do

Dealing = Callable[[int], Ints]  # on which of so many shards each tag lies


def tag_by_tag(shards: int) -> Ints:
    """As many tags to each shard, which takes moving their slots by hand."""
    return np.arange(MOST) * shards // MOST


def by_ranges(shards: int) -> Ints:
    """As many slots to each shard, in order, as a new cluster has them: tags are not even then."""
    return _slots_of_tags() * shards // SLOTS


@dataclass(frozen=True, slots=True)
class Need:
    """How many stores would do if everything were spread evenly, and how it is spread over the 256 tags."""

    stores: float
    tags: Floats  # shares

    def fullest(self, shards: int, dealing: Dealing = tag_by_tag) -> float:
        """How many stores' work the fullest of so many shards has."""
        return float(self.stores * np.bincount(dealing(shards), self.tags, shards).max())


def shards_for(needs: Iterable[Need], dealing: Dealing = tag_by_tag) -> int | None:
    """The fewest shards of which none has more to do than one store may; None if there are none."""
    some = list(needs)
    fitting = (shards for shards in range(1, MOST + 1) if all(need.fullest(shards, dealing) <= 1.0 for need in some))
    return next(fitting, None)


@cache
def _slots_of_tags() -> Ints:
    return np.array([key_slot(tag.encode()) for tag in SHARDS], np.int64)
