"""Rebuilding a tenant: the newest good snapshot, and the log behind it."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.learning.errors import BadSnapshot
from app.learning.events import Outcome, RetractionMade
from app.learning.snapshot.model_file import Header, decode, read_header
from app.learning.state import TenantState
from app.storage.errors import StoreDamaged
from app.storage.event_codec import is_retraction, label_hash, taken_back
from app.storage.event_log import Entry, EventLog, next_chain
from app.storage.metadata import Position
from app.storage.snapshots import SnapshotStore
from app.telemetry.counters import Telemetry
from app.tenants.cache import TenantCache
from app.tenants.errors import LogReplaced, RetractionFound, TenantDamaged
from app.tenants.labels.progress import Progress
from app.tenants.labels.stored_labels import retractions_of
from app.tenants.tenant import Tenant

if TYPE_CHECKING:
    from app.tenants.feedback import FeedbackHistory
    from app.tenants.log_writer import LogWriter

logger = logging.getLogger("sluice.tenants")

ENTRIES_AT_ONCE = 256  # a millisecond or two of work, after which other tasks run
MANY_ENTRIES = 64  # take longer than a thread takes to start
SCANNED_AT_ONCE = 256
REPLAYED_AT_ONCE = 32  # one by one, for their outcomes
REMEMBERED = 2048  # entries, in case that the store loses them
SMALL_BYTES = 1 << 16  # a snapshot of this size is decoded in less time than a thread takes to start
ATTEMPTS = 3
DAMAGED_SECONDS = 5.0  # before another attempt to load a damaged tenant


def follows(position: Position, entry: Entry) -> bool:
    """Whether an entry was written directly behind a position."""
    return entry.version == position.version + 1 and next_chain(position.chain, entry.payload) == entry.chain


@dataclass(frozen=True, slots=True)
class Loaded:
    """A tenant at the end of its log, None if there is none; and what was read on the way."""

    tenant: Tenant | None
    entries: Sequence[Entry]  # the last ones behind the snapshot
    earlier: str  # incarnations of the tenant


@dataclass(frozen=True, slots=True)
class Recovery:
    """Rebuilds tenants from the store."""

    log: EventLog
    snapshots: SnapshotStore

    async def load(
        self,
        name: str,
        progress: Progress | None = None,
        *,
        looks_ahead: bool = False,
        also: RetractionMade | None = None,
        before: int | None = None,
    ) -> Loaded:
        """Return the tenant at the end of its log; `looks_ahead` if a retraction is known to be there.

        `also` is one that the log does not have, and `before` the first version that it changes.
        """
        attempts = ATTEMPTS
        while attempts > 0:
            try:
                versions, meta = await self.snapshots.versions_and_meta(name)
                if meta.position is None:
                    return Loaded(None, (), meta.earlier)
                usable = [version for version in versions if before is None or version < before]
                tenant = await self._start(
                    name, meta.position, [each for each in usable if each <= meta.position.version]
                )
                if looks_ahead or also is not None:
                    await self._look_ahead(tenant, meta.position.version, also)
                entries = await self._to_the_end(tenant, meta.position, progress or Progress())
                return Loaded(tenant, entries, meta.earlier)
            except StoreDamaged as error:
                raise TenantDamaged(name, str(error)) from None
            except RetractionFound:  # begin again without these labels, from a snapshot before them
                looks_ahead = True
            except LogReplaced:  # trimmed, imported or deleted during the load
                attempts -= 1
        raise TenantDamaged(name, "its log does not follow its snapshots, or it changes faster than it can be read")

    async def replay(
        self, name: str, incarnation: str, first: int, last: int
    ) -> AsyncIterator[list[tuple[Entry, Outcome]]]:
        """Replay the log on a copy from before one version to another; yield entries and outcomes in small blocks.

        Only outcomes as they were at first: not those of labels that were taken back up to `last`, nor of labels
        between one of these and its retraction. To find them, end the replay with them.
        """
        earlier = [each for each in await self.snapshots.versions(name) if each < first]
        tenant = await self._start(name, Position(incarnation, first, ""), earlier)
        retractions = await self._retractions_behind(name, tenant.state.version, last)
        tenant.left_out, tenant.decided = taken_back(retractions.values()), last
        once_left_out = frozenset[bytes]().union(*(each.labels for each in retractions.values()))
        last_retraction, differs = max(retractions, default=0), False
        while tenant.state.version < last:
            entries = await self.log.read(
                name, tenant.state.version, min(REPLAYED_AT_ONCE, last - tenant.state.version)
            )
            if not entries:
                return
            applied = []
            for entry in entries:
                outcome, label = tenant.apply(entry), label_hash(entry.payload)
                differs = differs or label in once_left_out
                if label not in tenant.left_out and (entry.version > last_retraction or not differs):
                    applied.append((entry, outcome))
            yield applied

    async def at(self, name: str, incarnation: str, version: int) -> Tenant | None:
        """Return a copy of the tenant as it was at a version; None if the log does not reach back so far."""
        earlier = [each for each in await self.snapshots.versions(name) if each <= version]
        tenant = await self._start(name, Position(incarnation, version + 1, ""), earlier)
        tenant.left_out = await self.retracted_behind(name, tenant.state.version, version)
        tenant.decided = version
        try:
            while (missing := version - tenant.state.version) > 0:
                entries = await self.log.read(name, tenant.state.version, min(ENTRIES_AT_ONCE, missing))
                if not entries:
                    return None
                tenant.apply_all(entries)
        except LogReplaced:  # its beginning is trimmed
            return None
        return tenant

    async def earliest(self, name: str, end: Position) -> Tenant:
        """Return the earliest state from which the log leads to a position: a new one, or that of a snapshot."""
        first = await self.log.read(name, 0, 1)
        reach = first[0].version - 1 if first else end.version
        versions = await self.snapshots.versions(name) if reach else []
        tenant = await self._start(name, end, sorted(each for each in versions if reach <= each <= end.version))
        tenant.left_out = await self.retracted_behind(name, tenant.state.version, end.version)
        tenant.decided = end.version
        return tenant

    async def _look_ahead(self, tenant: Tenant, last: int, also: RetractionMade | None) -> None:
        """Find which labels do not stand at a version that is not later than the list of the snapshots.

        A later retraction may have dropped the snapshot that the load started from: it must be found again.
        """
        retractions = await self._retractions_behind(tenant.name, tenant.state.version, last)
        tenant.left_out, tenant.decided = taken_back([*retractions.values(), *([also] if also else [])]), last

    async def _to_the_end(self, tenant: Tenant, position: Position, progress: Progress) -> Sequence[Entry]:
        """Follow the log at least up to a position; return its last entries."""
        progress.start = progress.now = tenant.state.version
        progress.end = position.version
        last: deque[Entry] = deque(maxlen=REMEMBERED)
        await self._follow(tenant, last, progress)
        if tenant.state.version < position.version:
            raise LogReplaced(tenant.name)
        if tenant.decided:  # an attribute more than most tenants have would cost each of them a dict
            del tenant.left_out, tenant.decided
        return list(last)

    async def retracted_behind(self, name: str, version: int, last: int | None = None) -> frozenset[bytes]:
        """Return the labels behind a version that do not stand at the end of the log, or at another version."""
        return taken_back((await self._retractions_behind(name, version, last)).values())

    async def _retractions_behind(self, name: str, version: int, last: int | None = None) -> dict[int, RetractionMade]:
        """Return the retractions of the log behind a version, and up to another one, in their order."""
        found: dict[int, RetractionMade] = {}
        while (last is None or version < last) and (entries := await self.log.read(name, version, SCANNED_AT_ONCE)):
            found |= retractions_of(each for each in entries if last is None or each.version <= last)
            version = entries[-1].version
        return found

    async def _start(self, name: str, position: Position, versions: Sequence[int]) -> Tenant:
        """Return the first good one of these snapshots, or an empty tenant."""
        for version in versions:
            try:
                tenant = await self._restore(name, position.incarnation, version)
                await self._check_history(tenant, position)
            except BadSnapshot as error:
                if not await self.snapshots.set_aside(name, position.incarnation, version):
                    raise LogReplaced(name) from None
                logger.error("tenant %s: snapshot %d is set aside: %s", name, version, error)  # noqa: TRY400 - no traceback needed
            else:
                return tenant
        return Tenant(name, TenantState(), Position(position.incarnation, 0, position.incarnation))

    async def _restore(self, name: str, incarnation: str, version: int) -> Tenant:
        header = await self.snapshots.header(name, version)
        if header is None:
            raise BadSnapshot("it is gone")
        read = read_header(header)
        if read.extra.get("born") != incarnation or read.version != version:
            raise BadSnapshot("it belongs to another incarnation of the tenant")
        chunks = await self.snapshots.chunks(name, [chunk.hash for chunk in read.chunks])
        if sum(chunk.size for chunk in read.chunks) <= SMALL_BYTES:
            state = _decode(header, read, chunks)
        else:
            state = await asyncio.to_thread(_decode, header, read, chunks)
        return Tenant(name, state, Position(incarnation, version, read.extra["chain"]), snapshot_version=version)

    async def _check_history(self, tenant: Tenant, position: Position) -> None:
        """Raise BadSnapshot if the log has another history, as after a failover that lost events."""
        version = tenant.state.version
        if version == position.version:
            is_on_log = tenant.chain == position.chain
        else:
            entries = await self.log.read(tenant.name, version, 1)
            is_on_log = not entries or entries[0].version > version + 1 or follows(tenant.position, entries[0])
        if not is_on_log:
            raise BadSnapshot("the log has another history than the snapshot")

    async def _follow(self, tenant: Tenant, seen: deque[Entry], progress: Progress) -> None:
        while entries := await self.log.read(tenant.name, tenant.state.version, ENTRIES_AT_ONCE):
            retractions = [k + 1 for k, entry in enumerate(entries) if is_retraction(entry.payload)]
            behind = retractions[-1] if retractions else len(entries)
            if behind >= MANY_ENTRIES:  # in a thread, so that requests for other tenants go on
                await asyncio.to_thread(tenant.apply_all, entries[:behind])
            else:
                tenant.apply_all(entries[:behind])
            if retractions:
                tenant.outcomes = None  # labels before a retraction were first learnt in another state
            for entry in entries[behind:]:  # someone may wait for the outcome of a label that replaces another
                tenant.apply(entry)
            seen.extend(entries)
            progress.now = tenant.state.version


def _decode(header: bytes, read: Header, chunks: dict[str, bytes]) -> TenantState:
    missing = [chunk for chunk in read.chunks if chunk.hash not in chunks]
    if missing:
        raise BadSnapshot(f"{len(missing)} of its {len(read.chunks)} chunks are missing")
    return decode(header, lambda chunk: chunks[chunk.hash])


class TenantLoader:
    """Loads tenants into the cache. Concurrent requests for a tenant load it once."""

    def __init__(  # noqa: PLR0913 - collaborators
        self,
        load: Callable[[str], Awaitable[Tenant | None]],
        cache: TenantCache,
        writer: "LogWriter",
        history: "FeedbackHistory",
        telemetry: Telemetry,
        *,
        max_weights_moved: int = 0,
    ) -> None:
        self._load_repaired = load
        self._cache = cache
        self._writer = writer
        self._history = history
        self._telemetry = telemetry
        self._max_weights_moved = max_weights_moved
        self._loading: dict[str, asyncio.Task[Tenant | None]] = {}
        self.damaged: dict[str, tuple[TenantDamaged, float]] = {}  # the error, and when to try again

    async def load(self, name: str) -> Tenant | None:
        """Return a tenant from memory or from the store; None if there is none."""
        if tenant := self._cache.held(name):
            return tenant
        error, until = self.damaged.get(name, (None, 0.0))
        if error is not None and time.monotonic() < until:
            raise error
        task = self._loading.get(name)
        if task is None:
            task = asyncio.create_task(self._load(name))
            self._loading[name] = task
        return await asyncio.shield(task)

    async def _load(self, name: str) -> Tenant | None:
        try:
            tenant = await self._load_repaired(name)
        except TenantDamaged as error:
            logger.error("%s", error)  # noqa: TRY400 - no traceback needed
            self.damaged[name] = (error, time.monotonic() + DAMAGED_SECONDS)
            raise
        finally:
            del self._loading[name]  # before the next await: a later request must load again
        self.damaged.pop(name, None)
        if tenant is not None:
            self._telemetry.loads += 1
            tenant.writer, tenant.history = self._writer, self._history
            tenant.max_weights_moved = self._max_weights_moved
            self._cache.add(tenant)
        return tenant
