"""The review queue of each tenant: items are leased, labelled, skipped, passed on and given back."""

import asyncio
import hashlib
import secrets
from contextlib import suppress

import msgspec

from app.auth.keys import Key
from app.review.errors import LeaseLost, TooManyLeases
from app.storage.errors import StoreUnavailable
from app.storage.review.queue import (
    Action,
    Leased,
    NotLeased,
    QueueChanges,
    QueueCounts,
    QueuedItem,
    QueueLimits,
    ReviewQueueStore,
)
from app.telemetry.counters import TenantCounters
from app.tenants.errors import LogReplaced
from app.tenants.tenant import Tenant

STATUS_SECONDS = 0.5  # for the store to answer; without it the rest of a tenant is still shown
LEASE_SECONDS = 300
ENDED = {"skip": "skipped", "unsure": "unsure", "release": "released", "renew": "renewed"}


class Reviewer(msgspec.Struct, frozen=True):
    """Who takes part: a moderator, else the holder of a key, else anybody without either."""

    name: str

    @classmethod
    def of(cls, key: Key | None, moderator: str | None) -> "Reviewer":
        """Return who sends a request that may name a moderator; NotThisModerator if it may not name this one."""
        name = key.moderator_for(moderator) if key is not None else moderator
        if name is None:
            return cls(f"key {key.id}" if key is not None else "")
        return cls(f"moderator {name}")

    @property
    def digest(self) -> str:
        """What the store knows this person by."""
        return hashlib.blake2b(self.name.encode(), digest_size=8).hexdigest()


class Leases(msgspec.Struct, frozen=True):
    """Items that were leased together, and how many are left."""

    lease: str
    until_milliseconds: int
    waiting: int
    leased: int
    items: list[QueuedItem]


class ReviewQueue:
    """The queues of all tenants, for the people who work on them."""

    def __init__(
        self,
        store: ReviewQueueStore,
        counters: TenantCounters,
        limits: QueueLimits = QueueLimits(),  # noqa: B008 - it is frozen
        lease_seconds: int = LEASE_SECONDS,
    ) -> None:
        self._store = store
        self._counters = counters
        self._limits = limits
        self._lease_seconds = lease_seconds

    async def lease(self, tenant: Tenant, reviewer: Reviewer, limit: int, seconds: int | None) -> Leases:
        """Lease the most valuable items that this person has not passed."""
        lease = secrets.token_hex(6)
        found = await self._store.lease(
            tenant.name,
            holder=reviewer.name,
            person=reviewer.digest,
            lease=lease,
            limit=limit,
            milliseconds=1000 * (self._lease_seconds if seconds is None else seconds),
            applied=(tenant.incarnation, tenant.state.version),
        )
        if not isinstance(found, Leased):
            raise TooManyLeases(self._limits.leases) if found.why == "full" else LogReplaced(tenant.name)
        self._count(tenant.name, found.changes, "leased", len(found.items))
        changes = found.changes
        return Leases(lease, found.until_milliseconds, changes.waiting, changes.leased, list(found.items))

    async def end_lease(  # noqa: PLR0913, PLR0917 - what ends a lease
        self,
        tenant: str,
        reviewer: Reviewer,
        action: Action,
        prediction_id: str,
        lease: str | None = None,
        seconds: int | None = None,
    ) -> tuple[QueueChanges, int | None]:
        """Skip, pass on, give back or renew; return the queue, and the end of a renewed lease.

        Raise LeaseLost if this person does not have the item.
        """
        ended = await self._store.end_lease(
            tenant,
            action,
            prediction_id,
            person=reviewer.digest,
            lease=lease or "",
            milliseconds=1000 * (self._lease_seconds if seconds is None else seconds),
        )
        if isinstance(ended, NotLeased):
            raise LeaseLost(prediction_id, ended.why)
        self._count(tenant, ended.changes, ENDED[action], 1)
        return ended.changes, ended.until_milliseconds

    async def status(self, tenant: str) -> QueueCounts | None:
        """Return what a queue holds; None while the store does not answer."""
        with suppress(StoreUnavailable, TimeoutError):
            (found,) = await asyncio.wait_for(self._store.counts([tenant]), STATUS_SECONDS)
            if isinstance(found, QueueCounts):
                self._count(tenant, found.changes)
                return found
        return None

    def _count(self, tenant: str, changes: QueueChanges, event: str = "", number: int = 0) -> None:
        counter = self._counters.of(tenant)
        for name, times in ((event, number), ("expired", changes.expired), ("dropped", changes.dropped)):
            if times:
                counter.reviewed(name, times)
