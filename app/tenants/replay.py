"""Bringing a tenant in memory up to where its log is."""

from collections.abc import Callable
from dataclasses import dataclass

from app.learning.state import Outcome
from app.storage.event_log import Entry, Log, Position
from app.tenants.errors import LogReplaced
from app.tenants.recent_entries import Recent
from app.tenants.recovery import ENTRIES_AT_ONCE, Recovery
from app.tenants.tenant import Tenant

FEW = 32  # so many are applied one by one, and what they did is remembered


@dataclass(frozen=True, slots=True)
class CatchingUp:
    """Applies what others have appended. All of it happens under the tenant's lock, in the log's order."""

    log: Log
    recovery: Recovery
    recent: Recent
    measure: Callable[[Tenant], None]

    async def to(self, tenant: Tenant, version: int) -> None:
        """Apply the log at least up to a version; LogReplaced if it does not follow on what was applied here."""
        async with tenant.lock:
            await self.locked_to(tenant, version)

    async def locked_to(self, tenant: Tenant, version: int) -> None:
        """The same, by one who holds the lock."""
        while tenant.state.version < version:
            entries = await self.log.read(tenant.name, tenant.state.version, ENTRIES_AT_ONCE)
            if not entries:
                raise LogReplaced(tenant.name)
            if entries[0].version > tenant.state.version + 1:  # trimmed: we were away for long
                await self._reload(tenant)
            else:
                self.apply(tenant, entries)

    def apply(self, tenant: Tenant, entries: list[Entry]) -> None:
        """Apply entries that follow on the state."""
        if tenant.in_flight or len(entries) <= FEW:
            self.apply_each(tenant, entries)
            return
        tenant.apply_all(entries)
        for entry in entries:
            self.recent.remember(tenant.born, entry)
        self.measure(tenant)

    def apply_each(self, tenant: Tenant, entries: list[Entry]) -> dict[int, Outcome]:
        """Apply entries one by one; what each of them did."""
        outcomes = {}
        for entry in entries:
            outcomes[entry.version] = tenant.apply(entry)
            self.recent.remember(tenant.born, entry)
        self.measure(tenant)
        return outcomes

    def has_passed(self, tenant: Tenant, position: Position) -> bool:
        """Whether the tenant's history is known to lead through a position; its version alone does not say so."""
        return position == tenant.position or self.recent.has(position)

    async def _reload(self, tenant: Tenant) -> None:
        fresh = await self.recovery.load(tenant.name)
        if fresh is None or fresh.born != tenant.born or fresh.state.version < tenant.state.version:
            raise LogReplaced(tenant.name)
        tenant.become(fresh)
        self.measure(tenant)
