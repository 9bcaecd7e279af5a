"""Review queues in Redis: the chosen predictions of each tenant, the most valuable first, and their leases.

`lua/queue.lua` says which keys there are. An item is written together with its prediction, and leaves the queue with
it, or in the call that appends its label.
"""

import math
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from app.learning.review import REASONS, Chosen
from app.storage.client import scripts
from app.storage.client.connection import Call, Connection
from app.storage.client.wire import Argument
from app.storage.redis_keys import keys_of

Action = Literal["skip", "unsure", "release", "renew"]
RANDOM = REASONS.index("random")
MOST_UNSURE = 3  # people; after so many, an item leaves the queue
MOST_PASSES = 20  # people who have skipped it or were unsure


class NewItem(msgspec.Struct, frozen=True):
    """A chosen prediction, for the queue."""

    prediction_id: str
    chosen: Chosen
    at_milliseconds: int
    label: int
    score: float

    @property
    def facts(self) -> str:
        """What queue.lua stores; its order is that of priority and time.

        The items with the highest expected cost come first, then the random ones; of equal ones the oldest.
        """
        chosen = self.chosen
        cost = min(max(chosen.cost, 0.0), 1e300) if not math.isnan(chosen.cost) else 0.0
        priority = 1.0 if chosen.reason == RANDOM else -cost
        order = f"{priority!r} {self.at_milliseconds:012x}"
        return f"{order} {chosen.reason} {chosen.probability!r} {cost!r} {self.label} {self.score!r}"


class QueuedItem(NewItem, frozen=True):
    """An item of the queue, and how many people have passed it."""

    skipped: int = 0
    unsure: int = 0


class QueueChanges(msgspec.Struct, frozen=True):
    """What a call has found: items that wait and that are leased; leases that ended, and items that left the queue."""

    waiting: int
    leased: int
    expired: int = 0
    dropped: int = 0


class Leased(msgspec.Struct, frozen=True):
    """Items that are leased until a time, in milliseconds since 1970."""

    changes: QueueChanges
    until_milliseconds: int
    items: Sequence[QueuedItem]


class LeaseEnded(msgspec.Struct, frozen=True):
    """A lease that was ended, or renewed until a time."""

    changes: QueueChanges
    until_milliseconds: int | None


class NotLeased(msgspec.Struct, frozen=True):
    """Nothing was done. Why: the item is `gone`, `leased` by somebody else, or `waiting`.

    Of a new lease: the person holds too many (`full`), or the log lacks what the caller has applied (`behind`).
    """

    why: str


class QueueCounts(msgspec.Struct, frozen=True):
    """The items of a queue."""

    changes: QueueChanges = QueueChanges(0, 0)
    oldest_age_seconds: float | None = None  # since the prediction; None if the queue is empty
    reasons: dict[str, int] = {}  # waiting and leased


class QueueLimits(msgspec.Struct, frozen=True):
    """How much one tenant's queue may hold, and how many leases one person."""

    items: int = 10_000
    bytes: int = 4 << 20
    leases: int = 100


class ReviewQueueStore:
    """The review queues of all tenants."""

    def __init__(self, connection: Connection, limits: QueueLimits) -> None:
        self._connection = connection
        self._limits = limits

    async def lease(  # noqa: PLR0913 - what a lease is
        self,
        tenant: str,
        *,
        holder: str,
        person: str,
        lease: str,
        limit: int,
        milliseconds: int,
        applied: tuple[str, int] = ("", 0),
    ) -> Leased | NotLeased:
        """Lease up to `limit` items that this person has not passed; `applied` is what the caller knows of the log."""
        keys = keys_of(tenant)
        arguments: list[Argument] = [
            keys.prefix,
            person,
            holder,
            lease,
            limit,
            milliseconds,
            self._limits.leases,
            *applied,
        ]
        kind, *found = await self._connection.run(Call(scripts.LEASE, [keys.meta], arguments))
        if kind != b"leased":
            return NotLeased(kind.decode())
        triples = [found[place : place + 3] for place in range(5, len(found), 3)]
        return Leased(QueueChanges(*found[:4]), int(found[4]), [_item(*triple) for triple in triples])

    async def end_lease(  # noqa: PLR0913 - what ends a lease
        self,
        tenant: str,
        action: Action,
        prediction_id: str,
        *,
        person: str,
        lease: str = "",
        milliseconds: int = 0,
    ) -> LeaseEnded | NotLeased:
        """Skip, release or renew an item, or say that this person is unsure."""
        keys = keys_of(tenant)
        arguments: list[Argument] = [keys.prefix, action, prediction_id, person, lease, milliseconds]
        arguments += (MOST_UNSURE, MOST_PASSES)
        kind, *found = await self._connection.run(Call(scripts.END_LEASE, [keys.meta], arguments))
        if kind != b"done":
            return NotLeased(found[0].decode())
        return LeaseEnded(QueueChanges(*found[:4]), int(found[4]) if found[4] else None)

    async def counts(self, tenants: Sequence[str]) -> list[QueueCounts | BaseException]:
        """Count the items of some tenants in one round trip; an exception takes the place of one that failed."""
        calls = [
            Call(scripts.QUEUE_COUNTS, [keys.meta], [keys.prefix]) for keys in [keys_of(tenant) for tenant in tenants]
        ]
        answers = await self._connection.run_all(calls)
        return [answer if isinstance(answer, BaseException) else _counts(answer) for answer in answers]


def _item(prediction_id: bytes, facts: bytes, passes: bytes) -> QueuedItem:
    _, _, at, reason, probability, cost, label, score = facts.decode().split(" ")
    chosen = Chosen(int(reason), float(probability), float(cost))
    return QueuedItem(
        prediction_id.decode(), chosen, int(at, 16), int(label), float(score), passes.count(b"S"), passes.count(b"U")
    )


def _counts(answer: Sequence[Any]) -> QueueCounts:
    facts, now = answer[4], int(answer[5])
    counts = {name.decode(): int(count) for name, count in zip(answer[6::2], answer[7::2], strict=True)}
    reasons = {REASONS[int(name)]: count for name, count in counts.items() if name.isdigit() and count}
    age = max(now - int(facts.split(b" ")[2], 16), 0) / 1000 if facts else None
    return QueueCounts(QueueChanges(*answer[:4]), age, reasons)
