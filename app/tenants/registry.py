"""The tenants of this worker: everything that can be asked of them, and the work behind it."""

import asyncio
import contextlib
import secrets
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from app.features.featurizer import NEWEST
from app.learning.config import DEFAULTS, Value, config_of
from app.learning.errors import BadSetting
from app.learning.snapshot.model_file import load
from app.learning.state import Outcome
from app.storage.change_feed import Feeds
from app.storage.client.connection import Connection
from app.storage.event_codec import ConfigRecord, encode
from app.storage.event_log import Draft, Log, Meta, Position
from app.storage.snapshots import Snapshots
from app.telemetry.counters import Telemetry
from app.tenants.cache import Holding
from app.tenants.errors import LogReplaced, TenantExists, TenantUnknown, TooManyTenants
from app.tenants.exports import Exports
from app.tenants.feature_limit import FeatureCap
from app.tenants.feedback import Giving
from app.tenants.kept_predictions import Pending
from app.tenants.log_follower import Follower
from app.tenants.log_writer import Appender
from app.tenants.measurements import Measuring
from app.tenants.recent_entries import Recent
from app.tenants.recovery import Recovery
from app.tenants.repair import Mending
from app.tenants.replay import CatchingUp
from app.tenants.snapshotter import Policy, SnapshotTaken, Snapshotter, locked, take_picture
from app.tenants.tasks import end
from app.tenants.tenant import Tenant

ATTEMPTS = 3
LOCK_SECONDS = 5.0


def settings_of_new_tenants(newest: int = NEWEST) -> Mapping[str, Value]:
    """What a tenant begins with that is not the default: defaults are what older tenants have, and stay."""
    return {} if newest == DEFAULTS["featurizer"] else {"featurizer": newest}


@dataclass(frozen=True, slots=True)
class Rules:
    """What an operator decides about tenants."""

    auto_create: bool = True
    max_tenants: int = 100_000
    memory_budget_bytes: int = 1 << 30
    feedback_id_ttl_seconds: int = 7 * 24 * 3600
    max_weights_moved: int = 0
    max_concurrent_exports: int = 4
    features: FeatureCap = field(default_factory=FeatureCap)
    rescued: Path = Path("data/rescued")
    snapshots: Policy = field(default_factory=Policy)
    first_settings: Mapping[str, Value] = field(default_factory=settings_of_new_tenants)


@dataclass(frozen=True, slots=True)
class ListedTenant:
    """A line of the list of tenants."""

    tenant: str
    version: int
    loaded: bool


@dataclass(frozen=True, slots=True)
class Part:
    """Something that must work, and what is the matter with it."""

    ok: bool
    detail: str
    public: str | None = None  # what may be told to anybody, where the detail names tenants

    @property
    def public_detail(self) -> str:
        """Without names of tenants."""
        return self.detail if self.public is None else self.public


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether this worker can do its work, part by part."""

    ready: bool
    parts: Mapping[str, Part]


class Tenants:
    """All tenants, as seen by one worker. Put together here; `start` begins the work behind it."""

    def __init__(self, connection: Connection, rules: Rules, telemetry: Telemetry | None = None) -> None:
        self._rules = rules
        self._telemetry = telemetry = telemetry or Telemetry()
        self._log = Log(connection, rules.feedback_id_ttl_seconds)
        self._snapshots = Snapshots(connection)
        recent = Recent()
        recovery = Recovery(self._log, self._snapshots, recent)
        self._holding = Holding(recovery, rules.memory_budget_bytes, telemetry, rules.max_weights_moved)
        self._catching_up = CatchingUp(self._log, recovery, recent, self._holding.measure)
        self._mending = Mending(
            self._log, self._snapshots, recovery, recent, rules.rescued, self._holding.drop, telemetry
        )
        self._appender = Appender(self._log, self._catching_up, self._mending.mend)
        self._holding.giver = Giving(self._appender, recovery)
        self._snapshotter = Snapshotter(self._snapshots, rules.snapshots, self._holding.unsaved, telemetry)
        self._exports = Exports(rules.max_concurrent_exports)
        self._feeds = Feeds(connection)
        self.follower = Follower(self._feeds, self._log, self._catching_up, self._mending, self._holding.tenants)
        self._tasks: list[asyncio.Task[None]] = []
        self._beginning = asyncio.Lock()
        self.held = self._holding.held

    def start(self) -> None:
        """Begin to append, to follow and to take snapshots."""
        work = (self._appender.run(), self.follower.follow(), self.follower.look(), self._snapshotter.run())
        self._tasks = [asyncio.create_task(each) for each in work]

    async def stop(self, seconds: float) -> None:
        """Take the last snapshots within some seconds, and end the work."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._snapshotter.take_all(seconds), seconds)
        await end(self._tasks)

    async def hold(self, name: str, *, create: bool = True) -> Tenant:
        """A tenant: from memory, from the store, or new where that is allowed."""
        tenant = await self._holding.load(name)
        if tenant is None:
            if not (create and self._rules.auto_create):
                raise TenantUnknown(name)
            tenant = await self._created(name, self._rules.features.beginning(self._rules.first_settings))
        return tenant

    async def _created(self, name: str, first: Mapping[str, Value]) -> Tenant:
        if await self._log.count() >= self._rules.max_tenants:
            raise TooManyTenants(self._rules.max_tenants)
        await self._log.create(name)
        for _ in range(ATTEMPTS):  # a load that began before may still find nothing
            if tenant := await self._holding.load(name):
                await self._begin(tenant, first)
                return tenant
        raise LogReplaced(name)  # deleted at this very moment

    async def _begin(self, tenant: Tenant, first: Mapping[str, Value]) -> None:
        """Let a new tenant have the settings that new ones begin with.

        Another worker that makes it at the same moment may do so too: the same settings twice change nothing.
        """
        if first:
            async with self._beginning:
                if tenant.state.version == 0:
                    await self._change(tenant, first)

    async def configure(self, name: str, changes: Mapping[str, Value]) -> Tenant:
        """Change settings; a tenant that is not there is created. What would change nothing is no event."""
        tenant = await self._holding.load(name)
        first = self._rules.first_settings
        before = tenant.state.config if tenant else config_of(first)
        changes = self._rules.features.accepted(before, changes, is_new=tenant is None)
        config = before.changed(changes)  # BadSetting before anything happens
        tenant = tenant or await self._created(name, first)
        if config.values != tenant.state.config.values:
            await self._change(tenant, changes)
        return tenant

    async def _change(self, tenant: Tenant, changes: Mapping[str, Value]) -> None:
        record = ConfigRecord(time.time_ns() // 1_000_000, dict(changes))
        (outcome,) = await self._appender.append(tenant, [Draft(encode(record))])
        if isinstance(outcome, Outcome) and outcome.refused:
            raise BadSetting(outcome.refused)

    async def delete(self, name: str) -> None:
        """Delete a tenant, here and everywhere."""
        if not await self._log.delete(name):
            raise TenantUnknown(name)
        self._telemetry.tenants.forget(name)
        if tenant := self.held(name):
            self._holding.drop(tenant)

    async def listed(self, after: str, limit: int, within: Sequence[str] = ("*",)) -> list[ListedTenant]:
        """Some tenants in the order of their names: those that one of the patterns (`acme`, `acme-*`, `*`) names."""
        found = [await self._log.tenants(after, limit, pattern) for pattern in within]
        names = sorted({name for some in found for name in some})[:limit]
        metas = await self._log.metas(names) if names else []
        return [
            ListedTenant(
                name,
                meta.position.version if isinstance(meta, Meta) and meta.position else 0,
                name in self._holding.tenants,
            )
            for name, meta in zip(names, metas, strict=True)
        ]

    async def snapshot(self, name: str) -> SnapshotTaken:
        """Take a snapshot now."""
        return await self._snapshotter.take(await self.hold(name, create=False))

    async def export(self, name: str) -> AsyncGenerator[bytes, None]:
        """The model file of a tenant, piece by piece; of this moment, while learning goes on. To be closed early."""
        return self._exports.file(await self.hold(name, create=False))

    async def imported(self, name: str, data: bytes, *, replace: bool) -> Tenant:
        """Let a model file be a tenant's state from now on; BadSnapshot if it is none, TenantExists if it is there."""
        state = await asyncio.to_thread(load, data)
        self._rules.features.check_model(state.config)
        there = (await self._log.meta(name)).position
        if there is not None and not replace:
            raise TenantExists(name)
        born = secrets.token_hex(16)
        async with locked(self._snapshots, name, LOCK_SECONDS):
            picture = await take_picture(Tenant(name, state, Position(born, state.version, born)))
            await self._snapshots.write(name, picture.chunks, picture.chunk_bytes)
            done = await self._log.seed(name, picture.position, picture.header, instead_of=there.born if there else "")
        if not done:
            raise TenantExists(name)
        if tenant := self.held(name):
            self._holding.drop(tenant)
        return await self.hold(name, create=False)

    def measuring(self, pending: Pending) -> Measuring:
        """What tells how this worker is, in numbers."""
        return Measuring(self._holding, self.follower, pending, self._telemetry.tenants)

    def ready(self) -> Readiness:
        """Whether this worker can do its work."""
        trouble = self.follower.trouble
        damaged = sorted(self._holding.damaged)
        parts = {
            "redis": Part(trouble is None, trouble or self.follower.part_trouble or "in contact"),
            "tenants": Part(
                ok=True,  # the others are well: one damaged tenant must not take the service away from them
                detail=f"{len(self._holding.tenants):,} in memory, {self._holding.bytes:,} bytes"
                + (f"; damaged: {', '.join(damaged[:10])}" if damaged else ""),
                public="in memory",
            ),
            "log": Part(
                ok=True,
                detail="; ".join(self._mending.notes) or "in order",
                public="see the service's log" if self._mending.notes else "in order",
            ),
        }
        return Readiness(all(part.ok for part in parts.values()), parts)
