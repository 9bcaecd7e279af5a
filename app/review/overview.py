"""All tenants with their figures, the worst first: those in this worker's memory are ranked, the others come behind.

Everything is bounded, so that 100,000 tenants do no harm: names and the ranking are remembered for some seconds,
figures are made for one page, and of the tenants that are not in memory only a few are loaded for each page.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from app.learning.health import STATUSES, Status
from app.learning.honest.figures import Rate, rates_of
from app.learning.parts.confusion import Confusion
from app.learning.state import TenantState
from app.storage.errors import StoreUnavailable
from app.storage.event_log import EventLog
from app.storage.review.queue import QueueCounts, ReviewQueueStore
from app.tenants.errors import TenantDamaged, TenantUnknown
from app.tenants.labels.stored_labels import version_at
from app.tenants.tenant import Tenant
from kernels.evaluation.honest import LATELY, SUM

NAMES_AT_ONCE: Final = 1000
NAMES_SECONDS: Final = 3.0  # as long as names are not read again
RANKING_SECONDS: Final = 3.0  # the same of the ranking,
RATIO: Final = 20  # or as long as so many of them take
RANKED_AT_ONCE: Final = 50  # in about a millisecond
QUEUES_RANKED: Final = 1000  # with more tenants in memory, their queues do not count for the ranking
LOADED_AT_ONCE: Final = 20
LOAD_SECONDS: Final = 0.4  # after which no other load begins
STORE_SECONDS: Final = 1.0
DAY_MILLISECONDS: Final = 86_400_000
DAY_SECONDS: Final = 60.0  # as long as the labels of the last day are not counted again
MOST_DAYS: Final = 10_000
UNKNOWN_ACCURACY: Final = 2.0  # behind every known one


@dataclass(frozen=True, slots=True)
class TenantLine:
    """A tenant with its figures. Without them, it is not in this worker's memory, or it is `damaged`."""

    tenant: str
    is_loaded: bool = False
    is_damaged: bool = False
    version: int | None = None
    algorithm: str | None = None
    health: Status | None = None
    honest: Rate | None = None  # balanced accuracy
    recent: Confusion | None = None
    labels: int | None = None
    events_last_day: int | None = None
    queue: QueueCounts | None = None
    rebuilding: float | None = None


@dataclass(frozen=True, slots=True)
class OverviewPage:
    """A page of tenants. `total` are those that were asked for, `loaded` those of them that could be ranked."""

    lines: Sequence[TenantLine]
    total: int
    loaded: int


class Loaded(Protocol):
    """The tenants of a worker."""

    @property
    def tenants(self) -> Mapping[str, Tenant]:
        """Those that are in memory."""

    @property
    def bytes(self) -> int:
        """What they take."""


class Overview:
    """The tenants of a worker, for leads."""

    def __init__(  # noqa: PLR0913 - collaborators
        self,
        loaded: Loaded,
        damaged: Mapping[str, object],
        hold: Callable[[str], Awaitable[object]],
        log: EventLog,
        queues: ReviewQueueStore,
        *,
        room_bytes: int,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._loaded = loaded
        self._damaged = damaged
        self._hold = hold
        self._log = log
        self._queues = queues
        self._room_bytes = room_bytes  # more are loaded only if all tenants take less
        self._now = now
        self._turn = asyncio.Lock()
        self._names: list[str] = []
        self._names_until = -1.0
        self._ranking: list[str] = []
        self._ranking_until = -1.0
        self._days: dict[str, tuple[str, float, int]] = {}  # incarnation, time and events, by tenant

    async def page(self, covers: Callable[[str], bool], search: str, offset: int, limit: int) -> OverviewPage:
        """Return some of the tenants that the caller may see and whose names have a text in them."""
        async with self._turn:
            await self._read_names()
            asked = await self._asked(covers, search)
            if await self._load([name for name in asked if name not in self._loaded.tenants]):
                self._ranking_until = -1.0
            await self._rank()
        known = set(asked)
        ranked = [name for name in self._ranking if name in known]
        others = known.difference(ranked)
        names = [*ranked, *(name for name in asked if name in others)][offset : offset + limit]
        return OverviewPage(await self._lines(names), len(asked), len(ranked))

    async def _read_names(self) -> None:
        """Read the names of all tenants; while the store does not answer, those that are known stay."""
        if self._now() < self._names_until:
            return
        begin, names = self._now(), list[str]()
        while page := await self._log.tenants(names[-1] if names else "", NAMES_AT_ONCE):
            names += page
            if len(page) < NAMES_AT_ONCE:
                break
        self._names = names
        self._names_until = self._now() + max(NAMES_SECONDS, RATIO * (self._now() - begin))

    async def _load(self, names: Sequence[str]) -> bool:
        """Load some tenants while there is room; return whether there are new ones."""
        has_new, end = False, self._now() + LOAD_SECONDS
        with suppress(StoreUnavailable):
            for name in [name for name in names if name not in self._damaged][:LOADED_AT_ONCE]:
                if self._loaded.bytes > self._room_bytes or self._now() > end:
                    break
                with suppress(TenantUnknown, TenantDamaged):
                    await self._hold(name)
                    has_new = True
        return has_new

    async def _rank(self) -> None:
        """Sort the tenants in memory, and those that are damaged, from the worst on; equal ones by name."""
        if self._now() < self._ranking_until:
            return
        begin, loaded = self._now(), self._loaded.tenants
        queues = await self._counts(list(loaded) if len(loaded) <= QUEUES_RANKED else [])
        names, rows = [], []
        for number, name in enumerate(self._names, 1):
            if (tenant := loaded.get(name)) is not None:
                waiting = queues[name].changes.waiting if name in queues else 0
                names.append(name)
                rows.append((not tenant.state.is_poor, _accuracy(tenant.state), -waiting))
            elif name in self._damaged:
                names.append(name)
                rows.append((False, 0.0, 0))
            if number % RANKED_AT_ONCE == 0:
                await asyncio.sleep(0)
        is_fine, accuracy, waited = np.array(rows, np.float64).reshape(-1, 3).T
        self._ranking = [names[place] for place in np.lexsort((waited, accuracy, is_fine)).tolist()]
        self._ranking_until = self._now() + max(RANKING_SECONDS, RATIO * (self._now() - begin))

    async def _asked(self, covers: Callable[[str], bool], search: str) -> list[str]:
        found: list[str] = []
        for first in range(0, len(self._names), NAMES_AT_ONCE):
            found += [each for each in self._names[first : first + NAMES_AT_ONCE] if search in each and covers(each)]
            await asyncio.sleep(0)
        return found

    async def _counts(self, names: Sequence[str]) -> dict[str, QueueCounts]:
        """Return what queues hold; nothing while the store does not answer."""
        with suppress(StoreUnavailable, TimeoutError):
            found = await asyncio.wait_for(self._queues.counts(names), STORE_SECONDS) if names else []
            return {name: each for name, each in zip(names, found, strict=True) if isinstance(each, QueueCounts)}
        return {}

    async def _lines(self, names: Sequence[str]) -> list[TenantLine]:
        held = [tenant for name in names if (tenant := self._loaded.tenants.get(name)) is not None]
        queues = await self._counts([tenant.name for tenant in held])
        days = await asyncio.gather(*map(self._events_last_day, held))
        lines = {}
        for tenant, day in zip(held, days, strict=True):
            lines[tenant.name] = _line(tenant, queues.get(tenant.name), day)
            await asyncio.sleep(0)  # an interval takes about a third of a millisecond
        return [lines.get(name) or TenantLine(name, is_damaged=name in self._damaged) for name in names]

    async def _events_last_day(self, tenant: Tenant) -> int | None:
        """Return how many events the log has of the last 24 hours; None while the store does not answer."""
        incarnation, until, count = self._days.get(tenant.name, ("", -1.0, 0))
        if incarnation == tenant.incarnation and self._now() < until:
            return count
        since, last = time.time_ns() // 1_000_000 - DAY_MILLISECONDS, tenant.state.version
        with suppress(StoreUnavailable, TimeoutError):
            async with asyncio.timeout(STORE_SECONDS):
                count = last - await version_at(self._log, tenant.name, last, since)
                if len(self._days) >= MOST_DAYS:
                    self._days.clear()
                self._days[tenant.name] = (tenant.incarnation, self._now() + DAY_SECONDS, count)
                return count
        return None


def _accuracy(state: TenantState) -> float:
    """Return the honest balanced accuracy if it is known, else the naive one: the value alone, which costs little."""
    sums = state.prequential.honest.sums
    if sums is not None:
        cells: list[float] = sums[LATELY, :, SUM].tolist()
        normal, alarms, missed, found = cells
        if normal + alarms > 0.0 and missed + found > 0.0:
            return 0.5 * (found / (missed + found) + normal / (normal + alarms))
    naive = state.prequential.recent.balanced_accuracy
    return UNKNOWN_ACCURACY if naive is None else naive


def _line(tenant: Tenant, queue: QueueCounts | None, day: int | None) -> TenantLine:
    state = tenant.state
    counts = state.prequential
    return TenantLine(
        tenant.name,
        is_loaded=True,
        version=state.version,
        algorithm=str(state.config.values["algorithm"]),
        health=STATUSES[state.skill],
        honest=None if counts.honest.sums is None else rates_of(counts.honest.sums[LATELY]).balanced_accuracy,
        recent=counts.recent,
        labels=int(counts.lifetime.examples),
        events_last_day=day,
        queue=queue,
        rebuilding=tenant.rebuilding.share if tenant.rebuilding else None,
    )
