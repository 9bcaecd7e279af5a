"""Repair of a tenant whose store does not have what the worker has applied. docs/operations.md promises this.

The log is the truth, but a worker that still has lost events can put them back:
- the tenant was deleted, or a model was imported in its place: the state in memory is dropped;
- the store has nothing of the tenant, because it was emptied: the state in memory is put back as a snapshot, with the
  last events that are still known;
- the log lacks events that are still known, as after a failover: they are appended again, behind the events that other
  workers have appended meanwhile, and the tenant follows the log;
- otherwise an old copy was restored, or another history was written, and this worker does not know where the two
  histories fork. The log wins. The state in memory is written to a file that can be imported, and the tenant is loaded
  again.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from app.learning.errors import ModelNotFinite
from app.learning.snapshot.model_file import dump
from app.storage.errors import StoreUnavailable
from app.storage.event_codec import FeedbackRecord, decode_record, fingerprint_of
from app.storage.event_log import Appended, Draft, Entry, EventLog, Group, Position
from app.storage.snapshots import SnapshotStore
from app.telemetry.counters import Telemetry
from app.tenants.cache import RecentEntries
from app.tenants.errors import SnapshotBusy
from app.tenants.recovery import Recovery, follows
from app.tenants.snapshotter import encode_state, locked
from app.tenants.tenant import Tenant

logger = logging.getLogger("sluice.tenants")

LOCK_SECONDS = 5.0
ATTEMPTS = 50  # one fails only if another worker appends in the same millisecond
PUT_BACK_AT_MOST = 2048  # events; the store does nothing else during this call
NOTES_KEPT = 10


@dataclass(slots=True)
class Repair:
    """Repairs tenants whose logs have lost or changed events."""

    log: EventLog
    snapshots: SnapshotStore
    recovery: Recovery
    recent: RecentEntries
    rescued: Path
    drop: Callable[[Tenant], None]
    telemetry: Telemetry
    notes: list[str] = field(default_factory=list)
    _tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    async def repair(self, tenant: Tenant) -> None:
        """Repair a tenant; concurrent callers wait for the same work."""
        task = self._tasks.get(tenant.name)
        if task is None:
            task = asyncio.create_task(self._repair(tenant))
            self._tasks[tenant.name] = task
            task.add_done_callback(lambda _: self._tasks.pop(tenant.name, None))
        await asyncio.shield(task)

    async def _repair(self, tenant: Tenant) -> None:
        try:
            meta = await self.log.meta(tenant.name)
            if tenant.incarnation in meta.earlier:
                self.drop(tenant)
            elif meta.position is not None or not await self._put_back(tenant):
                await self._rejoin(tenant)
        except (StoreUnavailable, SnapshotBusy) as error:
            logger.warning("tenant %s is not repaired yet: %s", tenant.name, error)
        except ModelNotFinite as error:
            self.note(f"the store had lost tenant {tenant.name}, and it cannot be put back: {error}")
            self.drop(tenant)

    async def _put_back(self, tenant: Tenant) -> bool:
        """Write a tenant to a store that was emptied. False if another worker was faster."""
        if tenant.state.version == 0:
            self.drop(tenant)
            return True
        async with locked(self.snapshots, tenant.name, LOCK_SECONDS):
            copy = await encode_state(tenant)
            await self.snapshots.write(tenant.name, copy.chunks, copy.chunk_bytes)
            known = [(entry, _draft(entry)) for entry in self.recent.leading_to(copy.position)[-PUT_BACK_AT_MOST:]]
            done = await self.log.seed(tenant.name, copy.position, copy.header, instead_of="", known=known)
        if done:
            self._repaired(
                f"the store had lost tenant {tenant.name}; it was put back at version {copy.position.version}"
            )
        return done

    async def _rejoin(self, tenant: Tenant) -> None:
        """Bring tenant and log together, under the lock: the tenant must not learn from a log that lost events."""
        async with tenant.lock:
            for _ in range(ATTEMPTS):
                stored = (await self.log.meta(tenant.name)).position
                if stored is None or await self._is_on_log(tenant, stored):
                    return
                lost = await self._lost_entries(tenant, stored)
                if lost is None:
                    await self._rescue_and_reload(tenant)
                    return
                if not lost or await self._append_again(tenant, stored, lost):
                    await self._reload_unless_on_log(tenant)
                    return
        logger.warning("tenant %s is not repaired yet: others append too fast", tenant.name)

    async def _is_on_log(self, tenant: Tenant, stored: Position) -> bool:
        """Whether the state of a tenant is a state of this log, which may have continued since."""
        if stored.incarnation != tenant.incarnation or stored.version < tenant.state.version:
            return False
        if stored.version == tenant.state.version:
            return stored.chain == tenant.chain
        entries = await self.log.read(tenant.name, tenant.state.version, 1)
        return bool(entries) and follows(tenant.position, entries[0])

    async def _lost_entries(self, tenant: Tenant, stored: Position) -> list[Entry] | None:
        """Return the entries that the log lacks; None if they are not known completely."""
        ours = self.recent.leading_to(tenant.position)
        if stored.incarnation != tenant.incarnation or not ours:
            return None
        after = max(ours[0].version - 2, 0)  # with the entry before ours, to check that ours follow it
        found = await self.log.read(tenant.name, after, stored.version - after) if stored.version > after else []
        return missing_entries(found, stored, ours)

    async def _append_again(self, tenant: Tenant, stored: Position, lost: list[Entry]) -> bool:
        """Append lost entries. False if the log has moved on from `stored`."""
        group = Group(tenant.name, stored, [_draft(entry) for entry in lost], only_here=True)
        (answer,) = await self.log.append([group])
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Appended):
            self._repaired(f"the log of tenant {tenant.name} had lost {len(lost)} events; they were appended again")
        return isinstance(answer, Appended)

    async def _reload_unless_on_log(self, tenant: Tenant) -> None:
        stored = (await self.log.meta(tenant.name)).position
        if stored is not None and not await self._is_on_log(tenant, stored):
            await self._reload(tenant)

    async def _rescue_and_reload(self, tenant: Tenant) -> None:
        """Write the state to a file, and load the tenant from the log."""
        rescued = await asyncio.to_thread(self._rescue, tenant)
        version = tenant.state.version
        await self._reload(tenant)
        self._repaired(
            f"the log of tenant {tenant.name} has another history than version {version} of this worker; the log wins "
            f"(version {tenant.state.version}), and the state of this worker is {rescued}"
        )

    async def _reload(self, tenant: Tenant) -> None:
        fresh = await self.recovery.load(tenant.name)
        if fresh is None:
            self.drop(tenant)
            return
        tenant.replace_by(fresh)
        known = await self.log.read(tenant.name, max(tenant.state.version - PUT_BACK_AT_MOST, 0), PUT_BACK_AT_MOST)
        for entry in known:
            if entry.version <= tenant.state.version:
                self.recent.remember(tenant.incarnation, entry)

    def _rescue(self, tenant: Tenant) -> str:
        """Write a model file; return where the state is now."""
        try:
            pieces = dump(tenant.state)
        except ModelNotFinite as error:
            return f"lost: {error}"
        self.rescued.mkdir(parents=True, exist_ok=True)
        path = self.rescued / f"{tenant.name}-{tenant.state.version}-{tenant.state.digest[:8]}.sluice"
        with path.open("wb") as file:
            for piece in pieces:
                file.write(piece)
        return f"in {path}"

    def _repaired(self, text: str) -> None:
        self.telemetry.repairs += 1
        self.note(text)

    def note(self, text: str) -> None:
        """Report to the operator, in the log and in /readyz."""
        logger.error("%s", text)
        self.notes.append(text)
        del self.notes[:-NOTES_KEPT]


def missing_entries(log: Sequence[Entry], stored: Position, ours: Sequence[Entry]) -> list[Entry] | None:
    """Return those of our entries that the log lacks; None if the two have no known entry in common.

    The log is at `stored`, and its entries are known from some version on. An entry that another worker has appended
    again is in the log under another version: it is not missing.
    """
    common = _last_common_version(log, stored, ours)
    if common is None:
        return None
    stored_payloads = Counter(entry.payload for entry in log if entry.version > common)
    missing = []
    for entry in (entry for entry in ours if entry.version > common):
        if stored_payloads[entry.payload]:
            stored_payloads[entry.payload] -= 1
        else:
            missing.append(entry)
    return missing


def _last_common_version(log: Sequence[Entry], stored: Position, ours: Sequence[Entry]) -> int | None:
    """Return the last version at which both have the same history."""
    if not ours:
        return None
    chains = {0: stored.incarnation, stored.version: stored.chain} | {entry.version: entry.chain for entry in log}
    for entry in reversed(ours):
        if chains.get(entry.version) == entry.chain:
            return entry.version
        if log and follows(Position(stored.incarnation, entry.version, entry.chain), log[0]):
            return entry.version
    before = ours[0].version - 1
    is_common = before in chains and follows(Position(stored.incarnation, before, chains[before]), ours[0])
    return before if is_common else None


def _draft(entry: Entry) -> Draft:
    record = decode_record(entry.payload)
    if isinstance(record, FeedbackRecord) and record.feedback_id is not None:
        return Draft(entry.payload, record.feedback_id, fingerprint_of(record))
    return Draft(entry.payload)
