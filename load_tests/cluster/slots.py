"""How the 256 shards of Sluice's keys fall on the nodes of a cluster."""

from collections import Counter
from itertools import pairwise

from redis.crc import key_slot

from app.storage.redis_keys import SHARDS, shard_of

SLOTS = 16_384
SLOT_OF_SHARD = {shard: key_slot(shard.encode()) for shard in SHARDS}


def slot_of(tenant: str) -> int:
    """The slot of all of a tenant's keys."""
    return SLOT_OF_SHARD[shard_of(tenant)]


def even_ranges(nodes: int) -> list[tuple[int, int]]:
    """The first and the last slot of each node when all have equally many, as `--cluster create` gives them."""
    edges = [SLOTS * node // nodes for node in range(nodes + 1)]
    return [(first, after - 1) for first, after in pairwise(edges)]


def busiest_share(nodes: int) -> float:
    """How many times its fair part of the shards the fullest of so many nodes has, with equally many slots each."""
    found = Counter(slot * nodes // SLOTS for slot in SLOT_OF_SHARD.values())
    return max(found.values()) * nodes / len(SHARDS)
