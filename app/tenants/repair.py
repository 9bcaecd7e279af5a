"""What a worker does when the store does not have what it had: docs/operations.md promises this.

The log is the truth, but a truth that was lost can be put back by whoever still knows it:
- the tenant was deleted, or a model was imported in its place: what is in memory is dropped;
- the store has nothing of the tenant: it was emptied. The state in memory is put back as a snapshot, with the last
  events that are still known;
- the log lacks events that are still known, as after a failover: they are appended again, behind whatever others have
  appended meanwhile, and the tenant follows the log;
- otherwise an old copy was restored, or another history was written, and nobody here knows where they parted. The log
  counts. What memory held is written to a file that can be imported, and the tenant is loaded anew.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from app.learning.errors import ModelNotFinite
from app.learning.snapshot.model_file import dump
from app.storage.errors import StoreUnavailable
from app.storage.event_codec import FeedbackRecord, decode_record
from app.storage.event_log import Appended, Draft, Entry, Group, Log, Position
from app.storage.snapshots import Snapshots
from app.telemetry.counters import Telemetry
from app.tenants.errors import SnapshotBusy
from app.tenants.log_comparison import follows, lacking
from app.tenants.recent_entries import Recent
from app.tenants.recovery import Recovery
from app.tenants.snapshotter import locked, take_picture
from app.tenants.tenant import Tenant, fingerprint_of

logger = logging.getLogger("sluice.tenants")

LOCK_SECONDS = 5.0
ATTEMPTS = 50  # each fails only if another worker has appended something in the same millisecond
PUT_BACK_AT_MOST = 2048  # events; it is one call, during which the store does nothing else


@dataclass(slots=True)
class Mending:
    """Puts tenants in order whose logs are not what they were."""

    log: Log
    snapshots: Snapshots
    recovery: Recovery
    recent: Recent
    rescued: Path
    drop: Callable[[Tenant], None]
    telemetry: Telemetry
    notes: list[str] = field(default_factory=list)
    _mending: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    async def mend(self, tenant: Tenant) -> None:
        """Put a tenant in order; several who ask at once wait for the same work."""
        task = self._mending.get(tenant.name)
        if task is None:
            task = asyncio.create_task(self._mend(tenant))
            self._mending[tenant.name] = task
            task.add_done_callback(lambda _: self._mending.pop(tenant.name, None))
        await asyncio.shield(task)

    async def _mend(self, tenant: Tenant) -> None:
        try:
            meta = await self.log.meta(tenant.name)
            if tenant.born in meta.was:
                self.drop(tenant)
            elif meta.position is not None or not await self._put_back(tenant):
                await self._rejoin(tenant)
        except (StoreUnavailable, SnapshotBusy) as error:
            logger.warning("tenant %s is not in order yet: %s", tenant.name, error)
        except ModelNotFinite as error:
            self.note(f"the store had lost tenant {tenant.name}, and it cannot be put back: {error}")
            self.drop(tenant)

    async def _put_back(self, tenant: Tenant) -> bool:
        """The store was emptied. False if another worker was faster."""
        if tenant.state.version == 0:
            self.drop(tenant)
            return True
        async with locked(self.snapshots, tenant.name, LOCK_SECONDS):
            picture = await take_picture(tenant)
            await self.snapshots.write(tenant.name, picture.chunks, picture.chunk_bytes)
            known = [(entry, _draft(entry)) for entry in self.recent.leading_to(picture.position)[-PUT_BACK_AT_MOST:]]
            done = await self.log.seed(tenant.name, picture.position, picture.header, instead_of="", known=known)
        if done:
            version = picture.position.version
            self._repaired(f"the store had lost tenant {tenant.name}; it was put back as of version {version}")
        return done

    async def _rejoin(self, tenant: Tenant) -> None:
        """Bring tenant and log together. Nothing is learnt here meanwhile: a log that is behind has lost something."""
        async with tenant.steady():
            for _ in range(ATTEMPTS):
                there = (await self.log.meta(tenant.name)).position
                if there is None or await self._is_on_the_log(tenant, there):
                    return
                lost = await self._lost(tenant, there)
                if lost is None:
                    await self._rescue_and_follow(tenant)
                    return
                if not lost or await self._appended_again(tenant, there, lost):
                    await self._follow(tenant)
                    return
        logger.warning("tenant %s is not in order yet: others append too fast", tenant.name)

    async def _is_on_the_log(self, tenant: Tenant, there: Position) -> bool:
        """Whether the state is a state of this log, which may have gone on since."""
        if there.born != tenant.born or there.version < tenant.state.version:
            return False
        if there.version == tenant.state.version:
            return there.chain == tenant.chain
        entries = await self.log.read(tenant.name, tenant.state.version, 1)
        return bool(entries) and follows(tenant.position, entries[0])

    async def _lost(self, tenant: Tenant, there: Position) -> list[Entry] | None:
        """What the log lacks, if that is known in full."""
        ours = self.recent.leading_to(tenant.position)
        if there.born != tenant.born or not ours:
            return None
        after = max(ours[0].version - 2, 0)  # with the entry before ours, to know whether ours follow on it
        found = await self.log.read(tenant.name, after, there.version - after) if there.version > after else []
        return lacking(found, there, ours)

    async def _appended_again(self, tenant: Tenant, there: Position, lost: list[Entry]) -> bool:
        """False if the log does not stand there any more."""
        group = Group(tenant.name, there, [_draft(entry) for entry in lost], only_here=True)
        (answer,) = await self.log.append([group])
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Appended):
            self._repaired(f"the log of tenant {tenant.name} had lost {len(lost)} events; they were appended again")
        return isinstance(answer, Appended)

    async def _follow(self, tenant: Tenant) -> None:
        """Take over the log's order where it is another one."""
        there = (await self.log.meta(tenant.name)).position
        if there is not None and not await self._is_on_the_log(tenant, there):
            await self._load_anew(tenant)

    async def _rescue_and_follow(self, tenant: Tenant) -> None:
        """The log counts; what memory held is kept in a file."""
        kept = await asyncio.to_thread(self._rescue, tenant)
        version = tenant.state.version
        await self._load_anew(tenant)
        self._repaired(
            f"the log of tenant {tenant.name} has another history than version {version} here; the log counts "
            f"(version {tenant.state.version}), and what was known here is {kept}"
        )

    async def _load_anew(self, tenant: Tenant) -> None:
        fresh = await self.recovery.load(tenant.name)
        if fresh is None:
            self.drop(tenant)
            return
        tenant.become(fresh)
        known = await self.log.read(tenant.name, max(tenant.state.version - PUT_BACK_AT_MOST, 0), PUT_BACK_AT_MOST)
        for entry in known:
            if entry.version <= tenant.state.version:
                self.recent.remember(tenant.born, entry)

    def _rescue(self, tenant: Tenant) -> str:
        """Write a file; return where what was known is now."""
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
        """Tell the operator, in the log and in /readyz."""
        logger.error("%s", text)
        self.notes.append(text)
        del self.notes[:-10]


def _draft(entry: Entry) -> Draft:
    record = decode_record(entry.payload)
    if isinstance(record, FeedbackRecord) and record.feedback_id is not None:
        return Draft(entry.payload, record.feedback_id, fingerprint_of(record))
    return Draft(entry.payload)
