"""The names of everything that is kept in Redis.

A tenant belongs to one of 256 shards, and the shard is the hash tag of all its keys: they lie in one slot of a
cluster, so that one Lua call can write them together.
"""

import hashlib
from dataclasses import dataclass
from functools import lru_cache

TENANTS = "sluice:tenants"
KEYRING = "sluice:keys"
AUDIT = "sluice:audit"
SHARDS = tuple(f"s{number:02x}" for number in range(256))


@dataclass(frozen=True, slots=True)
class TenantKeys:
    """Where a tenant's things are."""

    meta: str  # which log this is, how far it has come, and the hash of its last entry
    log: str
    changes: str  # of its shard: whose log has grown
    headers: str  # of snapshots, by version
    chunks: str  # of all snapshots, by hash
    aside: str  # headers of snapshots that could not be used
    snapshot_lock: str
    pending: str  # the blocks of kept predictions, the oldest first
    pending_count: str
    prefix: str

    def block(self, block: str) -> str:
        """A block of kept predictions."""
        return f"{self.pending}:{block}"

    def feedback(self, born: str, feedback_id: str) -> str:
        """The record that this feedback_id was used, in this life of the tenant."""
        return f"{self.prefix}:feedback:{born[:8]}:{feedback_id}"


@lru_cache(maxsize=65_536)
def keys_of(tenant: str) -> TenantKeys:
    """The keys of one tenant."""
    shard = shard_of(tenant)
    prefix = f"sluice:{{{shard}}}:{tenant}"
    return TenantKeys(
        meta=f"{prefix}:meta",
        log=f"{prefix}:log",
        changes=changes_of(shard),
        headers=f"{prefix}:snapshot:headers",
        chunks=f"{prefix}:snapshot:chunks",
        aside=f"{prefix}:snapshot:aside",
        snapshot_lock=f"{prefix}:snapshot:lock",
        pending=f"{prefix}:pending",
        pending_count=f"{prefix}:pending_count",
        prefix=prefix,
    )


def shard_of(tenant: str) -> str:
    """The shard: a byte of a hash, the same on every machine."""
    return f"s{hashlib.blake2b(tenant.encode(), digest_size=1).hexdigest()}"


def changes_of(shard: str) -> str:
    """The change feed of a shard."""
    return f"sluice:{{{shard}}}:changes"
