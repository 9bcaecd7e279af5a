"""Deleting tenants, and restoring them for some time.

A restored tenant is a new incarnation: the deleted one stays deleted on every worker. So its log is written again, with
a chain that begins at the new name, and its snapshots get that name too.
"""

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass

from app.learning.snapshot.model_file import with_extra
from app.storage.deleted_tenants import DeletedTenant, DeletedTenants
from app.storage.event_log import INCARNATION_LENGTH, EventLog
from app.storage.metadata import Position
from app.storage.snapshots import SnapshotStore
from app.storage.stored_tenant import TenantStore, chained
from app.tenants.errors import LogReplaced, NothingDeleted, TenantExists, TenantUnknown
from app.tenants.loss.repair import Repair
from app.tenants.snapshotter import locked

LOCK_SECONDS = 5.0
COMMON = 8  # characters of both incarnations: the records of feedback_ids and of labels have these in their names


@dataclass(frozen=True, slots=True)
class Deletions:
    """Deletes and restores tenants in the store."""

    log: EventLog
    deleted: DeletedTenants
    store: TenantStore
    snapshots: SnapshotStore
    repair: Repair
    keep_seconds: int

    async def delete(self, name: str, *, purge: bool) -> None:
        """Delete a tenant; with `purge` so that neither it nor an earlier one of its name can be restored."""
        incarnation = await self.log.delete(name, 0 if purge else self.keep_seconds)
        if incarnation is None:
            raise TenantUnknown(name)
        if incarnation:
            self.repair.ended.add(name, incarnation)

    async def listed(self, name: str) -> list[DeletedTenant]:
        """Return the deleted tenants of a name that can be restored, the newest first."""
        return await self.deleted.listed(name, time.time_ns() // 1_000_000)

    async def restore(self, name: str, incarnation: str | None) -> None:
        """Restore a deleted tenant: the newest one, or the one that is named."""
        if (await self.log.meta(name)).position is not None:
            raise TenantExists(name, "delete it first; it can be restored too")
        found = [each for each in await self.listed(name) if incarnation in {None, each.incarnation}]
        if not found:
            raise NothingDeleted(name, incarnation)
        async with locked(self.snapshots, name, LOCK_SECONDS):
            done = await self._restore(name, found[0])
        if done == "exists":
            raise TenantExists(name, "delete it first; it can be restored too")
        if done != "restored":
            raise NothingDeleted(name, incarnation)

    async def _restore(self, name: str, deleted: DeletedTenant) -> str:
        new = deleted.incarnation[:COMMON] + secrets.token_hex(INCARNATION_LENGTH)[: INCARNATION_LENGTH - COMMON]
        headers = await self.deleted.headers(name, deleted.incarnation)
        position, chains = Position(new, deleted.version, new), dict[int, str]()
        async for first, payloads in self.deleted.payloads(name, deleted.incarnation):
            if not chains:
                position = Position(new, first - 1, new)
                chains[first - 1] = new
            if first != position.version + 1:
                raise LogReplaced(name)
            entries = chained(payloads, position)
            await self.store.stage(name, new, entries)
            chains |= {entry.version: entry.chain for entry in entries if entry.version in headers}
            position = Position(new, entries[-1].version, entries[-1].chain)
        chains[position.version] = position.chain
        if position.version != deleted.version:
            raise LogReplaced(name)
        return await self.deleted.restore(name, deleted.incarnation, position, _renamed(headers, new, chains))


def _renamed(headers: Mapping[int, bytes], incarnation: str, chains: Mapping[int, str]) -> dict[int, bytes]:
    """Return the headers for the new incarnation, without those from before the log."""
    return {
        version: with_extra(header, {"born": incarnation, "chain": chains[version]})
        for version, header in headers.items()
        if version in chains
    }
