"""The repair of a damaged tenant: a copy of everything, then a new incarnation with all that is sound.

Services may append to the old log until the very end. The exchange happens only if the log is exactly as it was read;
otherwise the entries that came meanwhile are added, and it is tried again. Services that have the tenant in memory find
another incarnation, drop their state, and load the repaired one.
"""

import os
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from app.learning.replay import advance_all
from app.learning.state import TenantState
from app.storage.event_codec import decode_all
from app.storage.event_log import Entry
from app.storage.metadata import Position
from app.storage.snapshots import SnapshotStore
from app.storage.stored_tenant import StoredTenant, TenantStore, chained
from app.tenants.damage.assessment import Assessment, assess
from app.tenants.errors import LogReplaced, TenantUnknown
from app.tenants.snapshotter import EncodedState, encode_state, locked
from app.tenants.tenant import Tenant

ATTEMPTS = 3
EXCHANGES = 500  # one fails only if a service appends in the same millisecond
LOCK_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Repaired:
    """The result of a repair."""

    version: int
    digest: str  # at the version of its snapshot
    copy: Path


@dataclass(frozen=True, slots=True)
class TenantRepair:
    """Checks and repairs the tenants of a store."""

    store: TenantStore
    snapshots: SnapshotStore

    async def check(self, tenant: str) -> Assessment:
        """Return what is wrong with a tenant; TenantUnknown if there is none."""
        stored = await self.store.read(tenant)
        if stored.is_empty:
            raise TenantUnknown(tenant)
        return await assess(stored, lambda incarnation, entry: self.store.confirmation(tenant, incarnation, entry))

    async def repair(
        self, found: Assessment, copy: Path, announce: Callable[[Assessment], Awaitable[None]]
    ) -> tuple[Assessment, Repaired]:
        """Replace a damaged tenant by what is sound; return what was kept and lost in the end.

        Before anything is changed, the copy is on the disk, and `announce` has told what will be lost.
        """
        tenant = found.stored.tenant
        for _ in range(ATTEMPTS):
            write_copy(found.stored, copy)
            await announce(found)
            if repaired := await self._replace(tenant, found, copy):
                return found, repaired
            found = await self.check(tenant)
        raise LogReplaced(tenant)

    async def _replace(self, tenant: str, found: Assessment, copy: Path) -> Repaired | None:
        """Write the repaired tenant aside and exchange it; None if the log has changed and must be checked again."""
        incarnation = secrets.token_hex(16)
        entries = _renumbered(found, incarnation)
        await self.store.stage(tenant, incarnation, entries)
        state = found.base_state()
        base = await self._encoded(tenant, state, incarnation, entries) if found.base else None
        advance_all(state, decode_all([entry.payload for entry in found.after]))
        end = await self._encoded(tenant, state, incarnation, entries)
        async with locked(self.snapshots, tenant, LOCK_SECONDS):
            await self.store.remove(tenant, found.stored.foreign, found.bad_chunks)
            for each in (base, end):
                if each is not None:
                    await self.snapshots.write(tenant, each.chunks, each.chunk_bytes)
            # With the base, the answers to retries of the events behind it can be computed again.
            headers = {each.position.version: each.header for each in (base, end) if each is not None}
            position = await self._exchange(tenant, found, end.position, headers)
        return Repaired(position.version, end.digest, copy) if position else None

    async def _encoded(
        self, tenant: str, state: TenantState, incarnation: str, entries: Sequence[Entry]
    ) -> EncodedState:
        chain = next((entry.chain for entry in reversed(entries) if entry.version == state.version), incarnation)
        return await encode_state(Tenant(tenant, state, Position(incarnation, state.version, chain)))

    async def _exchange(
        self, tenant: str, found: Assessment, position: Position, headers: Mapping[int, bytes]
    ) -> Position | None:
        """Exchange the logs as soon as no service has appended since the last look; return the new position."""
        meta = found.stored.meta
        ended = list(dict.fromkeys(filter(None, [meta.get(b"born", b"").decode(errors="replace"), found.incarnation])))
        for _ in range(EXCHANGES):
            result = await self.store.replace(tenant, position, headers, only_at=meta, ended=ended)
            if result is True:
                return position
            if result is False:
                return None
            meta, added = result.meta, chained(result.payloads, position)
            await self.store.stage(tenant, position.incarnation, added)
            position = Position(position.incarnation, added[-1].version, added[-1].chain)
        return None


def _renumbered(found: Assessment, incarnation: str) -> list[Entry]:
    """Return the kept entries as a new log: without gaps, and with a chain that begins at the new incarnation."""
    kept = [*found.before, *found.after]
    start = (found.base.version if found.base else 0) - len(found.before)
    return chained([entry.payload for entry in kept], Position(incarnation, start, incarnation))


def write_copy(stored: StoredTenant, path: Path) -> None:
    """Write everything that the store has of a tenant to a file, and check it; OSError if that fails."""
    data = msgspec.msgpack.encode(stored)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if read_copy(aside) != stored:
            raise OSError(f"the copy {aside} differs from what was written to it")
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def read_copy(path: Path) -> StoredTenant:
    """Read a copy that `write_copy` made."""
    return msgspec.msgpack.decode(path.read_bytes(), type=StoredTenant)
