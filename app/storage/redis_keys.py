"""The names of all keys in Redis.

A tenant belongs to one of 256 shards, and the shard is the hash tag of all its keys: they are in one slot of a
cluster, so that one Lua call can write them together.
"""

import hashlib
from functools import cache, lru_cache

from msgspec import Struct

TENANTS = "sluice:tenants"
KEYRING = "sluice:keys"
REVOKED = "sluice:{sluice:keys}:revoked"  # in the same slot of a cluster
AUDIT = "sluice:audit"
SHARDS = tuple(f"s{number:02x}" for number in range(256))


class TenantKeys(Struct, frozen=True, gc=False):
    """The keys of one tenant: those of every label are made once, the others when they are needed."""

    prefix: str
    changes: str  # the change feed of its shard
    meta: str  # incarnation, version and chain of the log
    log: str  # all events
    pending: str  # the blocks of kept predictions, oldest first; block b is at `pending:b`
    kept: str  # the bytes of kept predictions by tenant, of its shard

    def staged_log(self, incarnation: str) -> str:
        """The log of a new incarnation, until it takes the place of the stored one."""
        return f"{self.prefix}:log:{incarnation}"

    @property
    def deleted(self) -> str:
        """The deleted incarnations that can be restored; part p of incarnation i is at `deleted:i:p`."""
        return f"{self.prefix}:deleted"

    @property
    def headers(self) -> str:
        """Snapshot headers by version."""
        return f"{self.prefix}:snapshot:headers"

    @property
    def chunks(self) -> str:
        """Chunks of all snapshots by hash."""
        return f"{self.prefix}:snapshot:chunks"

    @property
    def aside(self) -> str:
        """Headers of snapshots that could not be used."""
        return f"{self.prefix}:snapshot:aside"

    @property
    def snapshot_lock(self) -> str:
        """The lock of the worker that writes a snapshot."""
        return f"{self.prefix}:snapshot:lock"

    @property
    def pending_count(self) -> str:
        """The number of kept predictions."""
        return f"{self.prefix}:pending_count"

    @property
    def pending_demand(self) -> str:
        """How many reviews the policy wants, of this hour and the one before."""
        return f"{self.prefix}:pending_demand"

    @property
    def opinions(self) -> str:
        """Blind second opinions by prediction."""
        return f"{self.prefix}:second:opinions"

    @property
    def second(self) -> list[str]:
        """All keys of second reviews: opinions, their times, ends of leases, holders, who has passed which."""
        parts = ("times", "leases", "holders", "passes")
        return [self.opinions, *(f"{self.prefix}:second:{part}" for part in parts)]

    def outcomes(self, incarnation: str, block: int | str) -> str:
        """The outcomes of a block of versions, for retries; append.lua builds the same name from that of the log."""
        return f"{self.prefix}:outcomes:{incarnation[:8]}:{block}"

    def feedback(self, incarnation: str, feedback_id: str) -> str:
        """The record of a used feedback_id, in this incarnation of the tenant."""
        return f"{self.prefix}:feedback:{incarnation[:8]}:{feedback_id}"


@lru_cache(maxsize=65_536)
def keys_of(tenant: str) -> TenantKeys:
    """Return the keys of one tenant."""
    shard = shard_of(tenant)
    prefix = f"sluice:{{{shard}}}:{tenant}"
    return TenantKeys(prefix, changes_of(shard), f"{prefix}:meta", f"{prefix}:log", f"{prefix}:pending", kept_of(shard))


def shard_of(tenant: str) -> str:
    """Return the shard: one byte of a hash, the same on every machine."""
    return f"s{hashlib.blake2b(tenant.encode(), digest_size=1).hexdigest()}"


@cache
def changes_of(shard: str) -> str:
    """Return the change feed of a shard."""
    return f"sluice:{{{shard}}}:changes"


@cache
def kept_of(shard: str) -> str:
    """Return the hash of kept bytes by tenant of a shard."""
    return f"sluice:{{{shard}}}:kept"


def synced_of(key: str | bytes | int | memoryview) -> str:
    """Return a key in the slot of another one: it is written to learn that everything before it is replicated."""
    name = key if isinstance(key, str) else str(key)
    tag = name.partition("{")[2].partition("}")[0]
    return f"sluice:synced:{{{tag or name}}}"


def session_of(digest: str) -> str:
    """Return the key of a session, by the hash of its secret."""
    return f"sluice:session:{digest}"


def probe_of(shard: str) -> str:
    """Return a key that is written to learn whether the server accepts writes."""
    return f"sluice:probe:{{{shard}}}"
