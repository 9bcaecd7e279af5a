"""Repair of a tenant whose store does not have what the worker has applied. docs/operations.md promises this.

The log is the truth, but a worker that still has lost events can put them back:
- the tenant was deleted, or a model was imported in its place: the state in memory is dropped. If the store has it
  again, as after a failover, it is deleted again, and what replaced it is put back;
- the store has nothing of the tenant, because it was emptied: the state in memory is put back as a snapshot, with the
  last events that are still known;
- the log lacks events that are still known, as after a failover: they are appended again, behind the events that other
  workers have appended meanwhile, and the tenant follows the log. A tenant that was evicted gets them before it is
  served again. The same if the store lost the whole tenant, and another worker has created it again;
- otherwise an old copy was restored, or another history was written, and this worker does not know where the two fork.
  The log wins, and gets the events that are known. The state in memory is written to a file that can be imported, and
  the tenant is loaded again.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from app.learning.errors import ModelNotFinite
from app.learning.snapshot.model_file import dump
from app.learning.state import TenantState
from app.storage.errors import StoreUnavailable
from app.storage.event_log import Draft, Entry, EventLog
from app.storage.metadata import Meta, Position
from app.storage.snapshots import SnapshotStore
from app.telemetry.counters import Telemetry
from app.tenants.cache import EndedIncarnations, RecentEntries
from app.tenants.errors import LogReplaced, SnapshotBusy
from app.tenants.labels.stored_labels import retracted_in
from app.tenants.loss.lost_entries import APPENDED_AT_ONCE, LostEntries, draft_of, remember_loaded
from app.tenants.recovery import ENTRIES_AT_ONCE, Loaded, Recovery, follows
from app.tenants.snapshotter import encode_state, locked
from app.tenants.tenant import Tenant

logger = logging.getLogger("sluice.tenants")

LOCK_SECONDS = 5.0
ATTEMPTS = 50  # one fails only if another worker appends in the same millisecond
NOTES_KEPT = 10


@dataclass(slots=True)
class Repair:
    """Repairs tenants whose logs have lost or changed events."""

    log: EventLog
    snapshots: SnapshotStore
    recovery: Recovery
    recent: RecentEntries
    lost: LostEntries
    ended: EndedIncarnations
    rescued: Path
    drop: Callable[[Tenant], None]
    telemetry: Telemetry
    notes: list[str] = field(default_factory=list)
    _tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    async def load(self, name: str) -> Tenant | None:
        """Load a tenant, after its log has got back what it lacks of the entries that this worker remembers of it."""
        for _ in range(ATTEMPTS):
            loaded = await self.recovery.load(name)
            self.ended.note(name, loaded.earlier)
            if loaded.tenant is not None and loaded.tenant.incarnation in self.ended:
                await self._delete_again(name, loaded.tenant.incarnation)
            elif await self._is_complete(name, loaded):
                if loaded.tenant is not None:
                    await remember_loaded(self.log, self.recent, loaded.tenant, loaded.entries)
                return loaded.tenant
        raise LogReplaced(name)

    async def _is_complete(self, name: str, loaded: Loaded) -> bool:
        """Whether the log has all that is remembered, or it is noted as lost; False if the log has been changed."""
        end, tenant = self.recent.end_of(name), loaded.tenant
        if end is None or (tenant is not None and end == tenant.position):
            return True
        if end.incarnation in self.ended:
            self.recent.forget(name)
        elif tenant is None:
            return not await self._put_back_remembered(name, end)
        elif tenant.incarnation != end.incarnation or not await self._has_passed(tenant, end):
            return not await self._append_remembered(tenant, end)
        return True

    async def _has_passed(self, tenant: Tenant, end: Position) -> bool:
        """Whether the log of a loaded tenant has passed through a position, or is trimmed too far to tell."""
        if end.version >= tenant.state.version:
            return False
        entries = await self.log.read(tenant.name, end.version, 1)
        return bool(entries) and (entries[0].version > end.version + 1 or follows(end, entries[0]))

    async def _append_remembered(self, tenant: Tenant, end: Position) -> bool:
        """Append what the log of a loaded tenant lacks, as far as it is known. False if nothing has changed."""
        lost = await self.lost.find(tenant.name, end, tenant.position)
        after = await self._append_again(tenant.name, tenant.position, lost.entries)
        if after is not None and lost.is_part:
            if tenant.incarnation == end.incarnation:
                self._report_loss(tenant.name, end, "does not know what was before", count=len(lost.entries))
            else:
                await self._rescue_remembered(tenant.name, end)
            return bool(lost.entries)
        if after is not None:
            await self.lost.remember_newest(tenant.name, after)
        return True

    async def _put_back_remembered(self, name: str, end: Position) -> bool:
        """Write a tenant that was evicted to a store that was emptied. False if it cannot be rebuilt: it is lost."""
        rebuilt = await self._rebuild(name, end)
        if rebuilt is None:
            self._report_loss(name, end, "the store has nothing of it")
            return False
        try:
            await self._put_back(rebuilt)
        except SnapshotBusy:
            raise LogReplaced(name) from None
        except ModelNotFinite as error:
            self._report_loss(name, end, str(error))
            return False
        return True

    async def _rescue_remembered(self, name: str, end: Position) -> None:
        """Write a tenant that was evicted to a file, because the store has another tenant under its name."""
        rebuilt = await self._rebuild(name, end)
        if rebuilt is None:
            self._report_loss(name, end, "the store has another tenant under this name")
            return
        rescued = await asyncio.to_thread(self._rescue, rebuilt)
        self.recent.forget(name)
        self._repaired(
            f"the store has another tenant {name} than this worker knows; the store wins, and the state of this "
            f"worker (version {end.version}) is {rescued}"
        )

    async def _rebuild(self, name: str, end: Position) -> Tenant | None:
        """Replay the remembered entries of a tenant; None if they do not reach back to its first one."""
        entries = self.recent.leading_to(name, end)
        if entries[0].version != 1:
            return None
        tenant = Tenant(name, TenantState(), Position(end.incarnation, 0, end.incarnation))
        tenant.left_out, tenant.decided = retracted_in(entries), end.version
        for start in range(0, len(entries), ENTRIES_AT_ONCE):
            tenant.apply_all(entries[start : start + ENTRIES_AT_ONCE])
            await asyncio.sleep(0)
        del tenant.left_out, tenant.decided
        return tenant

    def _report_loss(self, name: str, end: Position, reason: str, count: int = 0) -> None:
        """Report that events before or among the remembered ones cannot be put back, once: they are forgotten."""
        first = self.recent.leading_to(name, end)[0].version
        self.recent.forget(name)
        self._repaired(
            f"the store has lost events of tenant {name}, which was not in memory. This worker remembers versions "
            f"{first} to {end.version}, {reason}, and has put back {count} of them"
        )

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
            self.ended.note(tenant.name, meta.earlier)
            stored = meta.position
            if stored is not None and stored.incarnation in self.ended:
                await self._delete_again(tenant.name, stored.incarnation)
                stored = (await self.log.meta(tenant.name)).position
            if tenant.incarnation in self.ended:
                self.drop(tenant)
            elif stored is not None or not await self._put_back(tenant):
                await self._rejoin(tenant)
        except (StoreUnavailable, SnapshotBusy) as error:
            logger.warning("tenant %s is not repaired yet: %s", tenant.name, error)
        except ModelNotFinite as error:
            self.note(f"the store had lost tenant {tenant.name}, and it cannot be put back: {error}")
            self.drop(tenant)

    async def delete_revived(self, names: Sequence[str]) -> None:
        """Delete those of some tenants again that have ended, and that the store has again."""
        for name, meta in zip(names, await self.log.metas(names), strict=True):
            if isinstance(meta, Meta) and meta.position is not None and meta.position.incarnation in self.ended:
                await self._delete_again(name, meta.position.incarnation)

    async def _delete_again(self, name: str, incarnation: str) -> None:
        if await self.log.delete_again(name, incarnation):
            self._repaired(f"the store had tenant {name} again after it was deleted or replaced; it was deleted again")

    async def _put_back(self, tenant: Tenant) -> bool:
        """Write a tenant to a store that was emptied. False if another worker was faster."""
        if tenant.state.version == 0:
            self.drop(tenant)
            return True
        async with locked(self.snapshots, tenant.name, LOCK_SECONDS):
            copy = await encode_state(tenant)
            await self.snapshots.write(tenant.name, copy.chunks, copy.chunk_bytes)
            entries = self.recent.leading_to(tenant.name, copy.position)[-APPENDED_AT_ONCE:]
            known = [(entry, draft_of(entry)) for entry in entries]
            done = await self.log.seed(
                tenant.name, copy.position, copy.header, instead_of="", ended=self.ended.of(tenant.name), known=known
            )
            await self.snapshots.write(tenant.name, copy.chunks, copy.chunk_bytes)  # again, if the lock was lost
        if done:
            _keep_outcomes(tenant, known)
            version = copy.position.version
            self._repaired(f"the store had lost tenant {tenant.name}; it was put back at version {version}")
        return done

    async def _rejoin(self, tenant: Tenant) -> None:
        """Bring tenant and log together, under the lock: the tenant must not learn from a log that lost events."""
        async with tenant.lock:
            for _ in range(ATTEMPTS):
                stored = (await self.log.meta(tenant.name)).position
                if stored is None or await self._is_on_log(tenant, stored):
                    return
                lost = await self.lost.find(tenant.name, tenant.position, stored)
                if await self._append_again(tenant.name, stored, lost.entries) is not None:
                    await (self._rescue_and_reload if lost.is_part else self._reload_unless_on_log)(tenant)
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

    async def _append_again(self, name: str, stored: Position, lost: Sequence[Entry]) -> Position | None:
        """Append lost entries; return the position behind them. None if the log has moved on from `stored`."""
        done = await self.lost.append(name, stored, lost)
        if done is None:
            return None
        position, added = done
        if added:
            self._repaired(f"the log of tenant {name} had lost {added} events; they were appended again")
        return position

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
        fresh = (await self.recovery.load(tenant.name)).tenant
        if fresh is None:
            self.drop(tenant)
            return
        tenant.replace_by(fresh)
        await self.lost.remember_newest(tenant.name, tenant.position)

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


def _keep_outcomes(tenant: Tenant, known: Sequence[tuple[Entry, Draft]]) -> None:
    """Keep the outcomes that are still in memory: no replay could find them, as the log begins behind the snapshot."""
    for entry, draft in known:
        outcome = tenant.outcome_of(entry.version)
        if outcome is not None and draft.feedback_id is not None and tenant.history is not None:
            tenant.history.keep(tenant, draft.feedback_id, draft.fingerprint, outcome)
