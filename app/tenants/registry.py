"""The tenants of a worker: every operation on them, and the background work."""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass

from app.learning.config import Value, config_of
from app.learning.errors import BadSetting
from app.learning.events import Outcome
from app.learning.example import Example
from app.storage.client.durability import StoreStatus
from app.storage.deleted_tenants import DeletedTenant
from app.storage.embedded.append_only_file import read_notes
from app.storage.event_codec import ConfigRecord, encode
from app.storage.event_log import Draft, EventLog
from app.storage.metadata import Meta
from app.storage.snapshots import SnapshotStore
from app.telemetry.counters import Telemetry
from app.tenants.cache import TenantCache
from app.tenants.errors import LogReplaced, TenantUnknown, TooManyTenants
from app.tenants.feedback import Caller, FeedbackHistory
from app.tenants.labels.label_history import LabelHistories
from app.tenants.labels.retraction import Asked, Retracted, Retractions
from app.tenants.labels.similarity import SimilarInputs, SimilarLabels
from app.tenants.labels.stored_labels import LabelFilter, Retraction, StoredLabel, example_at, latest_labels
from app.tenants.labels.timeline import DriftFound, Timeline, timeline_of
from app.tenants.labels.what_if import Comparison, WhatIf, WhatIfs
from app.tenants.log_follower import LogFollower
from app.tenants.log_writer import LogWriter
from app.tenants.loss.repair import Repair
from app.tenants.readiness import Readiness, readiness
from app.tenants.recovery import TenantLoader
from app.tenants.rules import Rules
from app.tenants.snapshotter import SnapshotTaken, Snapshotter
from app.tenants.tenant import Tenant
from app.tenants.transfer.deletion import Deletions
from app.tenants.transfer.exports import Exports
from app.tenants.transfer.imports import Imports

ATTEMPTS = 3
LOCK_SECONDS = 5.0
CANCEL_AGAIN_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class ListedTenant:
    """A line of the list of tenants."""

    tenant: str
    version: int
    loaded: bool


class Tenants:
    """All tenants, as one worker sees them. `start` begins the background work."""

    def __init__(  # noqa: PLR0913 - collaborators, all built in main.py
        self,
        rules: Rules,
        *,
        log: EventLog,
        snapshots: SnapshotStore,
        cache: TenantCache,
        loader: TenantLoader,
        writer: LogWriter,
        history: FeedbackHistory,
        follower: LogFollower,
        repair: Repair,
        snapshotter: Snapshotter,
        retractions: Retractions,
        what_ifs: WhatIfs,
        similar_inputs: SimilarInputs,
        deletions: Deletions,
        exports: Exports,
        imports: Imports,
        telemetry: Telemetry,
        store: StoreStatus,
    ) -> None:
        self._rules = rules
        self._log = log
        self._snapshots = snapshots
        self.cache = cache
        self.loader = loader
        self._writer = writer
        self._history = history
        self.follower = follower
        self._repair = repair
        self._snapshotter = snapshotter
        self._retractions = retractions
        self._what_ifs = what_ifs
        self._similar_inputs = similar_inputs
        self._label_histories = LabelHistories(log)
        self._deletions = deletions
        self._exports = exports
        self._imports = imports
        self._telemetry = telemetry
        self._store = store
        self._tasks: list[asyncio.Task[None]] = []
        self.held = cache.held

    def start(self) -> None:
        """Start to write and follow the logs, and to take snapshots."""
        follower = self.follower
        work = (
            self._writer.run(), self._history.run(), follower.follow(), follower.compare(), self._snapshotter.run()
        )  # fmt: skip
        self._tasks = [asyncio.create_task(each) for each in work]

    async def stop(self, seconds: float) -> None:
        """Write outcomes and take the last snapshots within some seconds, and stop the background work."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._history.write()
                await self._snapshotter.take_all(seconds)
        await cancel_all(self._tasks)

    async def hold(self, name: str, *, create: bool = True) -> Tenant:
        """Return a tenant from memory or from the store, or a new one if creation is allowed."""
        tenant = await self.loader.load(name)
        if tenant is None:
            if not (create and self._rules.auto_create):
                raise TenantUnknown(name)
            tenant = await self._create(name, self._rules.features.first_settings(self._rules.first_settings))
        return tenant

    async def _create(self, name: str, first: Mapping[str, Value]) -> Tenant:
        if await self._log.count() >= self._rules.max_tenants:
            raise TooManyTenants(self._rules.max_tenants)
        # The first settings are part of the creation: no label of another worker can come between.
        settings = encode(_config_record(first)) if first else b""
        await self._log.create(name, settings, ended=self._repair.ended.of(name))
        for _ in range(ATTEMPTS):  # a load that began earlier may still find nothing
            if tenant := await self.loader.load(name):
                return tenant
        raise LogReplaced(name)  # deleted in this moment

    async def configure(self, name: str, changes: Mapping[str, Value]) -> Tenant:
        """Change settings, and create the tenant if necessary. Settings that are in force already are no event."""
        tenant = await self._current(name)
        first = self._rules.first_settings
        before = tenant.state.config if tenant else config_of(first)
        changes = self._rules.features.accept(before, changes, is_new=tenant is None)
        config = before.changed(changes)  # raises BadSetting before anything is written
        tenant = tenant or await self._create(name, first)
        if config.values != tenant.state.config.values:
            await self._change(tenant, changes)
        else:
            await self._log.confirm(name)  # they may be in force by an attempt that was not acknowledged
        return tenant

    async def _current(self, name: str) -> Tenant | None:
        """Return a tenant as the store has it: another worker may have deleted or replaced it in this moment."""
        tenant = await self.loader.load(name)
        if tenant is not None:
            stored = (await self._log.meta(name)).position
            if stored is None or stored.incarnation != tenant.incarnation:
                await self._repair.repair(tenant)
                tenant = await self.loader.load(name)
        return tenant

    async def _change(self, tenant: Tenant, changes: Mapping[str, Value]) -> None:
        (outcome,) = await self._writer.append(tenant, [Draft(encode(_config_record(changes)))])
        if isinstance(outcome, Outcome) and outcome.refused:
            raise BadSetting(outcome.refused)

    async def delete(self, name: str, *, purge: bool = False) -> None:
        """Delete a tenant, on all workers; with `purge`, so that it cannot be restored."""
        await self._deletions.delete(name, purge=purge)
        self._telemetry.tenants.forget(name)
        if tenant := self.held(name):
            self.cache.drop(tenant)

    async def deleted(self, name: str) -> list[DeletedTenant]:
        """Return the deleted tenants of a name that can be restored, the newest first."""
        return await self._deletions.listed(name)

    async def restore(self, name: str, incarnation: str | None = None) -> Tenant:
        """Restore a deleted tenant: the newest one, or the one that is named."""
        if await self._log.count() >= self._rules.max_tenants:
            raise TooManyTenants(self._rules.max_tenants)
        await self._deletions.restore(name, incarnation)
        if tenant := self.held(name):  # this worker may not know yet that it was deleted
            self.cache.drop(tenant)
        return await self.hold(name, create=False)

    async def listed(self, after: str, limit: int, within: Sequence[str] = ("*",)) -> list[ListedTenant]:
        """Return tenants in the order of their names that match one of the patterns (`acme`, `acme-*`, `*`)."""
        found = [await self._log.tenants(after, limit, pattern) for pattern in within]
        names = sorted({name for some in found for name in some})[:limit]
        metas = await self._log.metas(names) if names else []
        return [
            ListedTenant(
                name,
                meta.position.version if isinstance(meta, Meta) and meta.position else 0,
                name in self.cache.tenants,
            )
            for name, meta in zip(names, metas, strict=True)
        ]

    async def snapshot(self, name: str) -> SnapshotTaken:
        """Take a snapshot now."""
        return await self._snapshotter.take(await self.hold(name, create=False))

    async def retract(self, name: str, wanted: LabelFilter, asked: Asked, *, dry_run: bool) -> Retracted:
        """Take labels back; with `dry_run`, only say what that would do."""
        tenant = await self.hold(name, create=False)
        if dry_run:
            return await self._retractions.preview(tenant, wanted, asked)
        return await self._retractions.retract(tenant, wanted, asked)

    async def labels(
        self, name: str, wanted: LabelFilter, before: int | None = None
    ) -> AsyncIterator[tuple[StoredLabel, Retraction | None]]:
        """Return the labels of a tenant before a version, the newest first, and how each was taken back."""
        await self.hold(name, create=False)
        return latest_labels(self._log, name, wanted, before)

    async def timeline(self, name: str, since: int | None, until: int, periods: int) -> Timeline:
        """Return the newest labels of a tenant over time, in so many periods at most."""
        tenant = await self.hold(name, create=False)
        state = tenant.state
        found = DriftFound(state.drift, state.version, int(state.prequential.lifetime.examples))
        history = await self._label_histories.read(name, tenant.incarnation)
        return await asyncio.to_thread(timeline_of, history, since, until, periods, found)

    async def labelled_example(self, name: str, version: int) -> Example | None:
        """Return what was labelled by the event of a version; None if the log does not have it any more."""
        tenant = await self.hold(name, create=False)
        return await example_at(self._log, name, version, tenant.state.names)

    async def similar_labels(self, name: str, example: Example, limit: int, but: str) -> SimilarLabels:
        """Return the recent labels of the most similar inputs, but not those of one prediction."""
        tenant = await self.hold(name, create=False)
        return await self._similar_inputs.find(tenant, example, limit, but)

    async def as_of(self, name: str, version: int) -> Tenant | None:
        """Return a copy of a tenant as it was at a version; None if the log does not reach back so far."""
        tenant = await self.hold(name, create=False)
        async with self._retractions.turn:  # one such copy at a time
            return await self._retractions.replayer.recovery.at(name, tenant.incarnation, version)

    async def what_if(self, name: str, asked: WhatIf, caller: Caller | None = None) -> Comparison:
        """Compare a tenant's model with another one on the kept labels; nothing is changed.

        Raise Abandoned if the caller goes meanwhile.
        """
        tenant = await self.hold(name, create=False)
        model = None if asked.model_of is None else await self.hold(asked.model_of, create=False)
        return await self._what_ifs.compare(tenant, model, asked, caller)

    async def export(self, name: str, *, has_log: bool = False) -> AsyncGenerator[bytes, None]:
        """Return the pieces of a model file of this moment. The caller closes the generator if it stops early."""
        return self._exports.file(await self.hold(name, create=False), has_log=has_log)

    async def imported(self, name: str, data: bytes, *, replace: bool) -> Tenant:
        """Import a model file as a tenant; raise BadSnapshot if it is invalid, TenantExists if the tenant exists."""
        for _ in range(ATTEMPTS):  # a failover can lose the tenant before it is loaded
            await self._imports.write(name, data, replace=replace)
            if tenant := self.held(name):
                self.cache.drop(tenant)
            if tenant := await self.loader.load(name):
                return tenant
        raise LogReplaced(name)

    def ready(self) -> Readiness:
        """Return whether this worker can serve requests."""
        notes = [*read_notes(), *self._repair.notes]
        tenants = f"{len(self.cache.tenants):,} in memory, {self.cache.bytes:,} bytes"
        return readiness(self.follower, self._store, tenants, sorted(self.loader.damaged), notes)


def _config_record(changes: Mapping[str, Value]) -> ConfigRecord:
    return ConfigRecord(time.time_ns() // 1_000_000, dict(changes))


async def cancel_all(tasks: Iterable[asyncio.Task[None]]) -> None:
    """Cancel tasks until they have ended: a cancellation can be lost when it meets the answer of a command."""
    running = set(tasks)
    while running:
        for task in running:
            task.cancel()
        _, running = await asyncio.wait(running, timeout=CANCEL_AGAIN_SECONDS)
