"""The follower of the logs: the change feeds announce new entries at once, and a periodic comparison finds the rest."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice

from app.storage.change_feed import DELETED, ChangeFeeds
from app.storage.errors import StoreDamaged, StoreUnavailable
from app.storage.event_log import Entry, EventLog
from app.storage.metadata import Meta, Position
from app.storage.redis_keys import SHARDS
from app.tenants.cache import RecentEntries, TenantCache
from app.tenants.errors import LogReplaced, RetractionFound, TenantDamaged
from app.tenants.labels.progress import Progress
from app.tenants.loss.lost_entries import remember_loaded
from app.tenants.loss.repair import Repair
from app.tenants.recovery import ENTRIES_AT_ONCE, Recovery
from app.tenants.tenant import Tenant

logger = logging.getLogger("sluice.tenants")

COMPARE_SECONDS = 1.0
COMPARED_AT_ONCE = 1000
ASKED_AT_ONCE = 100  # of these in one round trip: other commands wait no longer than for one
RETRY_SECONDS = 0.2
FEW_ENTRIES = 32  # are applied one by one, so that their outcomes are remembered


@dataclass(frozen=True, slots=True)
class Replayer:
    """Applies entries that others have appended, in the order of the log, under the lock of the tenant."""

    log: EventLog
    recovery: Recovery
    recent: RecentEntries
    cache: TenantCache

    async def catch_up(self, tenant: Tenant, version: int) -> None:
        """Apply the log at least up to a version; raise LogReplaced if it does not follow the tenant's state."""
        async with tenant.lock:
            await self.catch_up_locked(tenant, version)

    async def catch_up_locked(self, tenant: Tenant, version: int) -> None:
        """Do the same for a caller that holds the lock."""
        while tenant.state.version < version:
            entries = await self.log.read(tenant.name, tenant.state.version, ENTRIES_AT_ONCE)
            if not entries:
                raise LogReplaced(tenant.name)
            if entries[0].version > tenant.state.version + 1:  # trimmed: this worker was behind for long
                await self._reload(tenant)
                continue
            try:
                self._apply(tenant, entries)
            except RetractionFound:
                tenant.rebuilding = Progress()
                try:
                    await self._reload(tenant, looks_ahead=True)
                finally:
                    tenant.rebuilding = None

    def has_passed(self, tenant: Tenant, position: Position) -> bool:
        """Whether the tenant is known to have passed through a position; its version alone does not prove it."""
        return position == tenant.position or self.recent.has(tenant.name, position)

    def _apply(self, tenant: Tenant, entries: list[Entry]) -> None:
        if tenant.in_flight or len(entries) <= FEW_ENTRIES:
            self.cache.apply_each(tenant, entries)
        else:
            self.cache.apply_all(tenant, entries)

    async def _reload(self, tenant: Tenant, *, looks_ahead: bool = False) -> None:
        loaded = await self.recovery.load(tenant.name, tenant.rebuilding, looks_ahead=looks_ahead)
        fresh = loaded.tenant
        if fresh is None or fresh.incarnation != tenant.incarnation or fresh.state.version < tenant.state.version:
            raise LogReplaced(tenant.name)
        await remember_loaded(self.log, self.recent, fresh, loaded.entries)
        tenant.replace_by(fresh)
        self.cache.measure(tenant)


class LogFollower:
    """Follows the logs of all tenants in memory, and knows whether the store is available. One for each worker."""

    def __init__(  # noqa: PLR0913, PLR0917 - collaborators
        self,
        feeds: ChangeFeeds,
        log: EventLog,
        replayer: Replayer,
        repair: Repair,
        held: Mapping[str, Tenant],
        load: Callable[[str], Awaitable[Tenant | None]],
        damaged: MutableMapping[str, tuple[TenantDamaged, float]],
    ) -> None:
        self._feeds = feeds
        self._log = log
        self._replayer = replayer
        self._repair = repair
        self._held = held
        self._load = load
        self._damaged = damaged  # tenants that could not be loaded
        self._recent = replayer.recent
        self._to_compare = Pass(held)
        self._to_compare_remembered = Pass(self._recent.logs)
        self._to_compare_ended = Pass(repair.ended.names)
        self.trouble: str | None = "no contact yet"
        self.away = feeds.away  # change feeds on cluster nodes that do not answer
        self.contact_at = time.monotonic()
        self._is_part_away = False

    async def follow(self) -> None:
        """Apply the entries that others append, until cancelled."""
        begun = False
        while True:
            try:
                if not begun:
                    await self._feeds.begin()
                    begun = True
                changes = await self._feeds.changes()
                self._log_away_nodes()
                for name, version in changes.items():
                    await self._changed(name, version)
            except StoreUnavailable as error:
                self._failed(error)
                await asyncio.sleep(RETRY_SECONDS)
            except Exception:
                logger.exception("following the logs failed")
                await asyncio.sleep(RETRY_SECONDS)

    async def compare(self) -> None:
        """Compare tenants with their logs every second, until cancelled: feeds are capped, stores can be emptied."""
        while True:
            try:
                await self._feeds.recheck()
                await self.compare_once()
                self._succeeded()
            except StoreUnavailable as error:
                self._failed(error)
            except Exception:
                logger.exception("comparing tenants with their logs failed")
            await asyncio.sleep(COMPARE_SECONDS)

    async def compare_once(self) -> None:
        """Compare some tenants with their logs; the next call continues with the next ones."""
        tenants = [self._held[name] for name in self._present(self._to_compare.next()) if name in self._held]
        if not tenants and not self._feeds.away:
            await self._log.count()
        for start in range(0, len(tenants), ASKED_AT_ONCE):
            await self._compare_all(tenants[start : start + ASKED_AT_ONCE])
        # A tenant that was evicted is served no more, but its log must have what this worker has acknowledged.
        evicted = [name for name in self._present(self._to_compare_remembered.next()) if name not in self._held]
        for start in range(0, len(evicted), ASKED_AT_ONCE):
            await self._compare_remembered(evicted[start : start + ASKED_AT_ONCE])

        ended = list(self._present(self._to_compare_ended.next()))
        for start in range(0, len(ended), ASKED_AT_ONCE):
            await self._repair.delete_revived(ended[start : start + ASKED_AT_ONCE])

    def _present(self, names: Iterable[str]) -> Iterable[str]:
        """Return the names without those on cluster nodes that are away."""
        return (name for name in names if not self._feeds.is_away(name))

    async def _compare_remembered(self, names: Sequence[str]) -> None:
        """Load those of some evicted tenants whose logs lack what is remembered of them: that repairs the logs."""
        ends = {name: end for name in names if (end := self._recent.end_of(name))}
        metas = await self._log.metas(ends)
        chains = await self._log.chains([(name, end.version) for name, end in ends.items()])
        for (name, end), meta, chain in zip(ends.items(), metas, chains, strict=True):
            if isinstance(meta, StoreDamaged) or isinstance(chain, StoreDamaged):
                continue  # it is reported when it is loaded
            stored = meta.position
            if stored is not None and stored.incarnation == end.incarnation:
                is_on_log = stored == end or (stored.version > end.version and chain in {end.chain, None})
            else:
                is_on_log = False
            if not is_on_log and name not in self._held and self._recent.end_of(name) == end:
                with suppress(TenantDamaged, LogReplaced):  # the loader has logged it, and the next pass tries again
                    await self._load(name)

    async def _compare_all(self, tenants: Sequence[Tenant]) -> None:
        before = [(tenant.state.version, tenant.chain) for tenant in tenants]
        metas = await self._log.metas([tenant.name for tenant in tenants])
        for tenant, (version, chain), meta in zip(tenants, before, metas, strict=True):
            with self._damage_noted(tenant):
                await self._compare(tenant, version, chain, meta)

    async def _compare(self, tenant: Tenant, version: int, chain: str, meta: Meta | StoreDamaged) -> None:
        """Repair a tenant that is not on its log. `version` and `chain` are from before `meta` was read."""
        if isinstance(meta, StoreDamaged):
            raise meta
        self._repair.ended.note(tenant.name, meta.earlier)
        stored = meta.position
        if stored is None or stored.incarnation != tenant.incarnation or not _can_precede(version, chain, stored):
            await self._repair_held(tenant)
        elif stored.version > tenant.state.version:
            tenant.note_version(stored.version)
            await self.catch_up(tenant, stored.version)

    async def _changed(self, name: str, version: int) -> None:
        tenant = self._held.get(name)
        if version == DELETED:
            self._damaged.pop(name, None)  # it was deleted, replaced or repaired
            self._repair.notes[:] = [note for note in self._repair.notes if not note.startswith(_stays(name))]
        if tenant is None:
            if version == DELETED:
                with suppress(StoreDamaged):  # it is reported when it is loaded
                    self._repair.ended.note(name, (await self._log.meta(name)).earlier)
            return
        with self._damage_noted(tenant):
            if version == DELETED:
                await self._compare(tenant, tenant.state.version, tenant.chain, await self._log.meta(name))
                return
            tenant.note_version(version)
            # An append in flight brings the tenant up to date, and then checks the known version itself.
            if version > tenant.state.version and not tenant.in_flight:
                await self.catch_up(tenant, version)

    async def catch_up(self, tenant: Tenant, version: int) -> None:
        """Apply the log up to a version; repair a tenant whose log does not follow its state."""
        with self._damage_noted(tenant):
            try:
                await self._replayer.catch_up(tenant, version)
            except LogReplaced:
                await self._repair_held(tenant)

    async def _repair_held(self, tenant: Tenant) -> None:
        if self._held.get(tenant.name) is tenant:
            await self._repair.repair(tenant)

    @contextmanager
    def _damage_noted(self, tenant: Tenant) -> Iterator[None]:
        """Note damage of one tenant, and continue with the others."""
        try:
            yield
        except (StoreDamaged, TenantDamaged) as error:
            text = f"{_stays(tenant.name)}{tenant.state.version}: {error}"
            if text not in self._repair.notes:
                self._repair.note(text)

    @property
    def part_trouble(self) -> str | None:
        """The state of a cluster of which only some nodes answer."""
        away = self._feeds.away
        return f"{len(away)} of {len(SHARDS)} shards are away ({next(iter(away.values()))})" if away else None

    def _log_away_nodes(self) -> None:
        """Log when nodes of a cluster fail, and when all are back."""
        away = self.part_trouble
        if away and not self._is_part_away:
            logger.error("%s; feedback for their tenants is refused until they are back", away)
        elif self._is_part_away and not away:
            logger.info("the whole store is available")
        self._is_part_away = bool(away)

    def _failed(self, error: StoreUnavailable) -> None:
        if self._feeds.are_partly_available:  # only one node of a cluster has failed; the feeds show which
            return
        if self.trouble is None:
            logger.error("%s; predictions continue, feedback is refused until it is back", error)
        self.trouble = str(error)

    def _succeeded(self) -> None:
        if self.trouble is not None:
            logger.info("the store is available")
        self.trouble = None
        if not self._feeds.away:
            self.contact_at = time.monotonic()


class Pass:
    """Goes through the names of tenants again and again, some at a time."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = names
        self._rest: Iterator[str] = iter(())

    def next(self) -> list[str]:
        """Return the next names; some of them may be gone since the pass began."""
        names = list(islice(self._rest, COMPARED_AT_ONCE))
        if not names:
            self._rest = iter(tuple(self._names))  # the garbage collector need not search a tuple of strings
            names = list(islice(self._rest, COMPARED_AT_ONCE))
        return names


def _stays(name: str) -> str:
    """Return how a note about a tenant begins whose log cannot be followed."""
    return f"tenant {name} stays at version "


def _can_precede(version: int, chain: str, stored: Position) -> bool:
    """Whether a log at `stored` can have continued from here."""
    return version < stored.version or (version == stored.version and chain == stored.chain)
