"""The state of a tenant as a page shows it live: looked at once a second, however many people watch."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

from app.learning.drift import Drift
from app.learning.health import Health, health_of
from app.learning.honest.curve import TargetFigures, target_of
from app.learning.honest.figures import HonestFigures, figures
from app.learning.parts.confusion import Confusion
from app.storage.review.queue import QueueCounts
from app.tenants.tenant import Tenant

FRESH_SECONDS: Final = 0.9  # as long as a state is not looked at again
SAME_MILLISECONDS: Final = 2000  # ages of the oldest item that differ less are of the same item
MOST_TENANTS: Final = 1000  # that are remembered


class Queues(Protocol):
    """The review queues of all tenants."""

    async def status(self, tenant: str) -> QueueCounts | None:
        """Return what a queue holds; None while the store does not answer."""


@dataclass(frozen=True, slots=True)
class LiveState:
    """What may change at any moment. `oldest_at_milliseconds` is the time of the oldest prediction in the queue."""

    version: int
    threshold: float
    health: Health
    counts: Confusion
    recent: Confusion
    served: Confusion
    honest: HonestFigures
    target: TargetFigures | None
    drift: Drift
    features: int
    rebuilding: float | None
    queue: QueueCounts | None
    oldest_at_milliseconds: int | None


@dataclass(slots=True)
class Known:
    """The last state of a tenant that was looked at."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    state: LiveState | None = None
    incarnation: str = ""
    looked_at: float = 0.0


class LiveStates:
    """The states of the tenants that somebody watches. A state that has not changed is the same object."""

    def __init__(self, queues: Queues, now: Callable[[], float] = time.monotonic) -> None:
        self._queues = queues
        self._now = now
        self._known: OrderedDict[str, Known] = OrderedDict()

    async def of(self, tenant: Tenant) -> LiveState:
        """Return the state of a tenant, at most a second old."""
        known = self._known.setdefault(tenant.name, Known())
        self._known.move_to_end(tenant.name)
        if len(self._known) > MOST_TENANTS:
            self._known.popitem(last=False)
        async with known.turn:
            is_fresh = self._now() - known.looked_at < FRESH_SECONDS and known.incarnation == tenant.incarnation
            if known.state is None or not is_fresh:
                known.looked_at = self._now()
                queue = await self._queues.status(tenant.name)
                if known.state is None or _has_changed(known, tenant, queue):
                    known.state, known.incarnation = _state_of(tenant, queue), tenant.incarnation
            return known.state


def _has_changed(known: Known, tenant: Tenant, queue: QueueCounts | None) -> bool:
    """Return whether a state has to be made again: most of it changes with the version alone."""
    before = known.state
    assert before is not None
    rebuilding = tenant.rebuilding.share if tenant.rebuilding else None
    if (known.incarnation, before.version, before.rebuilding) != (tenant.incarnation, tenant.state.version, rebuilding):
        return True
    if before.queue is None or queue is None:
        return before.queue is not queue
    oldest = _oldest_at(queue)
    if before.oldest_at_milliseconds is None or oldest is None:
        is_other = before.oldest_at_milliseconds is not oldest
    else:
        is_other = abs(before.oldest_at_milliseconds - oldest) > SAME_MILLISECONDS
    waiting, leased = queue.changes.waiting, queue.changes.leased
    changes = before.queue.changes
    return is_other or (changes.waiting, changes.leased, before.queue.reasons) != (waiting, leased, queue.reasons)


def _state_of(tenant: Tenant, queue: QueueCounts | None) -> LiveState:
    state = tenant.state
    counts = state.prequential
    return LiveState(
        version=state.version,
        threshold=state.model.threshold,
        health=health_of(state),
        counts=counts.lifetime,
        recent=counts.recent,
        served=counts.served,
        honest=figures(counts.honest),
        target=target_of(state),
        drift=state.drift,
        features=state.model.features,
        rebuilding=tenant.rebuilding.share if tenant.rebuilding else None,
        queue=queue,
        oldest_at_milliseconds=None if queue is None else _oldest_at(queue),
    )


def _oldest_at(queue: QueueCounts) -> int | None:
    age = queue.oldest_age_seconds
    return None if age is None else round(1000 * (time.time() - age))
