"""Rebuilding a tenant: the newest good snapshot, and the log behind it."""

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from app.learning.errors import BadSnapshot
from app.learning.snapshot.model_file import Header, decode, read_header
from app.learning.state import Outcome, TenantState
from app.storage.errors import StoreDamaged
from app.storage.event_log import Entry, Log, Position
from app.storage.snapshots import Snapshots
from app.tenants.errors import LogReplaced, TenantDamaged
from app.tenants.log_comparison import follows
from app.tenants.recent_entries import Recent
from app.tenants.tenant import Tenant

logger = logging.getLogger("sluice.tenants")

ENTRIES_AT_ONCE = 256  # a millisecond or two of applying, between which others have their turn
REMEMBERED = 2048  # entries, in case that the store turns out to have lost them
SMALL_BYTES = 1 << 16  # of a snapshot: read at once, in less time than another thread needs to begin
ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Recovery:
    """Where a tenant is rebuilt from."""

    log: Log
    snapshots: Snapshots
    recent: Recent

    async def load(self, name: str) -> Tenant | None:
        """The tenant as its log says; None if there is no such tenant."""
        for _ in range(ATTEMPTS):
            try:
                versions, meta = await self.snapshots.versions_and_meta(name)
                return await self._load(name, meta.position, versions) if meta.position else None
            except StoreDamaged as error:
                raise TenantDamaged(name, str(error)) from None
            except LogReplaced:  # trimmed, imported or deleted while we were reading
                continue
        raise TenantDamaged(name, "its log does not follow on its snapshots, or it changes faster than it can be read")

    async def outcome_of(self, name: str, born: str, version: int) -> Outcome | None:
        """What an event did, by doing it once more on a copy; None if the log does not reach back so far."""
        try:
            earlier = [each for each in await self.snapshots.versions(name) if each < version]
            tenant = await self._start(name, Position(born, version, ""), earlier)
            await self._follow(tenant, version - 1, deque(maxlen=0))
            (entry,) = await self.log.read(name, version - 1, 1)
            return tenant.apply(entry)
        except (LogReplaced, TenantDamaged, ValueError):
            return None

    async def _load(self, name: str, position: Position, versions: Sequence[int]) -> Tenant:
        tenant = await self._start(name, position, [each for each in versions if each <= position.version])
        last: deque[Entry] = deque(maxlen=REMEMBERED)
        await self._follow(tenant, None, last)
        if tenant.state.version < position.version:
            raise LogReplaced(name)
        self.recent.forget(tenant.born)  # it may have been another history
        for entry in last:
            self.recent.remember(tenant.born, entry)
        return tenant

    async def _start(self, name: str, position: Position, versions: Sequence[int]) -> Tenant:
        """The first good one of these snapshots, or the beginning."""
        for version in versions:
            try:
                return await self._placed(await self._restored(name, position.born, version), position)
            except BadSnapshot as error:
                logger.error("tenant %s: snapshot %d is set aside: %s", name, version, error)  # noqa: TRY400 - said in full
                await self.snapshots.set_aside(name, version)
        return Tenant(name, TenantState(), Position(position.born, 0, position.born))

    async def _restored(self, name: str, born: str, version: int) -> Tenant:
        header = await self.snapshots.header(name, version)
        if header is None:
            raise BadSnapshot("it is gone")
        read = read_header(header)
        if read.extra.get("born") != born or read.version != version:
            raise BadSnapshot("it belongs to another life of the tenant")
        held = await self.snapshots.chunks(name, [chunk.hash for chunk in read.chunks])
        if sum(chunk.size for chunk in read.chunks) <= SMALL_BYTES:
            state = _decoded(header, read, held)
        else:
            state = await asyncio.to_thread(_decoded, header, read, held)
        return Tenant(name, state, Position(born, version, read.extra["chain"]), snapshot_version=version)

    async def _placed(self, tenant: Tenant, position: Position) -> Tenant:
        """The tenant; BadSnapshot if the log has another history, as after a failover that lost what led to it."""
        version = tenant.state.version
        if version == position.version:
            is_there = tenant.chain == position.chain
        else:
            entries = await self.log.read(tenant.name, version, 1)
            is_there = not entries or entries[0].version > version + 1 or follows(tenant.position, entries[0])
        if not is_there:
            raise BadSnapshot("the log has another history than that which led to it")
        return tenant

    async def _follow(self, tenant: Tenant, up_to: int | None, seen: deque[Entry]) -> None:
        while up_to is None or tenant.state.version < up_to:
            count = ENTRIES_AT_ONCE if up_to is None else min(ENTRIES_AT_ONCE, up_to - tenant.state.version)
            entries = await self.log.read(tenant.name, tenant.state.version, count)
            if not entries:
                return
            tenant.apply_all(entries)
            seen.extend(entries)


def _decoded(header: bytes, read: Header, held: dict[str, bytes]) -> TenantState:
    missing = [chunk for chunk in read.chunks if chunk.hash not in held]
    if missing:
        raise BadSnapshot(f"{len(missing)} of its {len(read.chunks)} chunks are not there")
    return decode(header, lambda chunk: held[chunk.hash])
