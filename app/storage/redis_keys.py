"""The names of everything that is kept in Redis.

A tenant belongs to one of 256 shards, and the shard is the hash tag of all its keys: they lie in one slot of a
cluster, so that one Lua call can write them together.
"""

import hashlib
from functools import cache, lru_cache

from msgspec import Struct

TENANTS = "sluice:tenants"
KEYRING = "sluice:keys"
AUDIT = "sluice:audit"
SHARDS = tuple(f"s{number:02x}" for number in range(256))


class TenantKeys(Struct, frozen=True, gc=False):
    """Where a tenant's things are. Kept for every tenant that was met, so it holds no more than it must."""

    prefix: str
    changes: str  # of its shard: whose log has grown

    @property
    def meta(self) -> str:
        """Which log this is, how far it has come, and the hash of its last entry."""
        return f"{self.prefix}:meta"

    @property
    def log(self) -> str:
        """All events."""
        return f"{self.prefix}:log"

    @property
    def headers(self) -> str:
        """Of snapshots, by version."""
        return f"{self.prefix}:snapshot:headers"

    @property
    def chunks(self) -> str:
        """Of all snapshots, by hash."""
        return f"{self.prefix}:snapshot:chunks"

    @property
    def aside(self) -> str:
        """Headers of snapshots that could not be used."""
        return f"{self.prefix}:snapshot:aside"

    @property
    def snapshot_lock(self) -> str:
        """Whoever writes a snapshot has it."""
        return f"{self.prefix}:snapshot:lock"

    @property
    def pending(self) -> str:
        """The blocks of kept predictions, the oldest first."""
        return f"{self.prefix}:pending"

    @property
    def pending_count(self) -> str:
        """How many predictions are kept."""
        return f"{self.prefix}:pending_count"

    def block(self, block: str) -> str:
        """A block of kept predictions."""
        return f"{self.prefix}:pending:{block}"

    def feedback(self, born: str, feedback_id: str) -> str:
        """The record that this feedback_id was used, in this life of the tenant."""
        return f"{self.prefix}:feedback:{born[:8]}:{feedback_id}"


@lru_cache(maxsize=65_536)
def keys_of(tenant: str) -> TenantKeys:
    """The keys of one tenant."""
    shard = shard_of(tenant)
    return TenantKeys(f"sluice:{{{shard}}}:{tenant}", changes_of(shard))


def shard_of(tenant: str) -> str:
    """The shard: a byte of a hash, the same on every machine."""
    return f"s{hashlib.blake2b(tenant.encode(), digest_size=1).hexdigest()}"


@cache
def changes_of(shard: str) -> str:
    """The change feed of a shard."""
    return f"sluice:{{{shard}}}:changes"
