"""Following the logs of the tenants in memory: at once by the change feeds, and a look at all of them now and then."""

import asyncio
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice

from app.storage.change_feed import Feeds
from app.storage.errors import StoreDamaged, StoreUnavailable
from app.storage.event_log import Log, Meta, Position
from app.storage.redis_keys import SHARDS
from app.tenants.errors import LogReplaced, TenantDamaged
from app.tenants.repair import Mending
from app.tenants.replay import CatchingUp
from app.tenants.tenant import Tenant

logger = logging.getLogger("sluice.tenants")

LOOK_SECONDS = 1.0
LOOKED_AT_ONCE = 1000
ASKED_AT_ONCE = 100  # of these: whoever wants something meanwhile waits for no more
RETRY_SECONDS = 0.2
DELETED = -1  # or replaced by an import


class Follower:
    """One for each worker."""

    def __init__(
        self, feeds: Feeds, log: Log, catching_up: CatchingUp, mending: Mending, held: Mapping[str, Tenant]
    ) -> None:
        self._feeds = feeds
        self._log = log
        self._catching_up = catching_up
        self._mending = mending
        self._held = held
        self._round: Iterator[str] = iter(())  # names of those who have yet to be looked at
        self.trouble: str | None = "no contact yet"
        self.contact_at = time.monotonic()
        self._is_part_away = False

    async def follow(self) -> None:
        """Apply what others append, until cancelled."""
        begun = False
        while True:
            try:
                if not begun:
                    await self._feeds.begin()
                    begun = True
                changes = await self._feeds.changes()
                self._tell_of_parts()
                for name, version in changes.items():
                    await self._changed(name, version)
            except StoreUnavailable as error:
                self._missed(error)
                await asyncio.sleep(RETRY_SECONDS)
            except Exception:
                logger.exception("following the logs")
                await asyncio.sleep(RETRY_SECONDS)

    async def look(self) -> None:
        """Look every second where the logs stand: feeds are capped, stores can be emptied. Until cancelled."""
        while True:
            try:
                await self._feeds.find_again()
                await self.look_once()
                self._found()
            except StoreUnavailable as error:
                self._missed(error)
            except Exception:
                logger.exception("looking at the logs")
            await asyncio.sleep(LOOK_SECONDS)

    async def look_once(self) -> None:
        """Compare some tenants in memory with their logs; the next call goes on with the next ones."""
        tenants = [tenant for tenant in self._next() if not self._feeds.is_away(tenant.name)]
        if not tenants and not self._feeds.away:
            await self._log.count()
        for start in range(0, len(tenants), ASKED_AT_ONCE):
            await self._look_at(tenants[start : start + ASKED_AT_ONCE])

    def _next(self) -> list[Tenant]:
        """Some of a round through all tenants in memory, of which some may have left since it began."""
        names = list(islice(self._round, LOOKED_AT_ONCE))
        if not names:
            self._round = iter(tuple(self._held))  # of a tuple of names the collector looks through nothing
            names = list(islice(self._round, LOOKED_AT_ONCE))
        return [self._held[name] for name in names if name in self._held]

    async def _look_at(self, tenants: Sequence[Tenant]) -> None:
        before = [(tenant.state.version, tenant.chain) for tenant in tenants]
        metas = await self._log.metas([tenant.name for tenant in tenants])
        for tenant, (version, chain), meta in zip(tenants, before, metas, strict=True):
            with self._damage_noted(tenant):
                await self._compare(tenant, version, chain, meta)

    async def _compare(self, tenant: Tenant, version: int, chain: str, meta: Meta | StoreDamaged) -> None:
        """`version` and `chain` are of before `meta` was read: a log never goes back behind them by itself."""
        if isinstance(meta, StoreDamaged):
            raise meta
        there = meta.position
        if there is None or there.born != tenant.born or not _is_behind(version, chain, there):
            await self._mend(tenant)
        elif there.version > tenant.state.version:
            tenant.hear(there.version)
            await self.catch_up(tenant, there.version)

    async def _changed(self, name: str, version: int) -> None:
        tenant = self._held.get(name)
        if tenant is None:
            return
        with self._damage_noted(tenant):
            await self._hear(tenant, version)

    async def _hear(self, tenant: Tenant, version: int) -> None:
        if version == DELETED:
            await self._compare(tenant, tenant.state.version, tenant.chain, await self._log.meta(tenant.name))
            return
        tenant.hear(version)
        # An append under way brings the tenant up to date by itself, and looks afterwards what was heard of meanwhile.
        if version > tenant.state.version and not tenant.in_flight:
            await self.catch_up(tenant, version)

    async def catch_up(self, tenant: Tenant, version: int) -> None:
        """Apply the log up to a version; a log that does not follow on what was applied is put in order."""
        with self._damage_noted(tenant):
            try:
                await self._catching_up.to(tenant, version)
            except LogReplaced:
                await self._mend(tenant)

    async def _mend(self, tenant: Tenant) -> None:
        if self._held.get(tenant.name) is tenant:
            await self._mending.mend(tenant)

    @contextmanager
    def _damage_noted(self, tenant: Tenant) -> Iterator[None]:
        """A tenant that cannot be followed must not keep us from following the others."""
        try:
            yield
        except (StoreDamaged, TenantDamaged) as error:
            text = f"tenant {tenant.name} stays at version {tenant.state.version}: {error}"
            if text not in self._mending.notes:
                self._mending.note(text)

    def _missed(self, error: StoreUnavailable) -> None:
        """Something could not be asked for. In a cluster that may be a node which has just gone: the feeds tell."""
        if not self._feeds.are_partly_there:
            self._lost(str(error))

    @property
    def part_trouble(self) -> str | None:
        """What is the matter with a part of a cluster while the rest is there."""
        away = self._feeds.away
        return f"{len(away)} of {len(SHARDS)} shards are away ({next(iter(away.values()))})" if away else None

    def trouble_with(self, tenant: str) -> str | None:
        """What keeps a tenant's things from being written."""
        return self.trouble or (self.part_trouble if self._feeds.is_away(tenant) else None)

    def _tell_of_parts(self) -> None:
        """Log it when nodes of a cluster go away, and when all are back."""
        away = self.part_trouble
        if away and not self._is_part_away:
            logger.error("%s; feedback of their tenants is refused until they are back", away)
        elif self._is_part_away and not away:
            logger.info("in contact with all of the store")
        self._is_part_away = bool(away)

    def _lost(self, trouble: str) -> None:
        if self.trouble is None:
            logger.error("%s; predictions go on, feedback is refused until it is back", trouble)
        self.trouble = trouble

    def _found(self) -> None:
        if self.trouble is not None:
            logger.info("in contact with the store")
        self.trouble = None
        if not self._feeds.away:
            self.contact_at = time.monotonic()


def _is_behind(version: int, chain: str, there: Position) -> bool:
    """Whether a log that stands there can have gone on from here."""
    return version < there.version or (version == there.version and chain == there.chain)
