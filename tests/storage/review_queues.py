"""A tenant with a review queue in a real store: its items, its reviewers, its labels."""

import math
from itertools import count

from app.learning.review import REASONS, Chosen
from app.storage.client import Connection
from app.storage.event_log import Appended, Draft, EventLog, Group
from app.storage.predictions import Block, PredictionStore, Written
from app.storage.redis_keys import keys_of
from app.storage.review.queue import Action, Leased, LeaseEnded, NewItem, NotLeased, QueueLimits, ReviewQueueStore

UNCERTAIN, RANDOM = REASONS.index("uncertain"), REASONS.index("random")
MINUTE = 60_000


class Desk:
    """The queue of one tenant, as its routes use it."""

    def __init__(self, connection: Connection, tenant: str = "acme", **limits: int) -> None:
        self.connection = connection
        self.tenant = tenant
        self.store = ReviewQueueStore(connection, QueueLimits(**limits))
        self.predictions = PredictionStore(connection, 3600, 1000, review=QueueLimits(**limits))
        self.log = EventLog(connection, 3600)
        self._numbers = count(1)

    async def create(self) -> "Desk":
        await self.log.create(self.tenant)
        return self

    def block(self, *chosen: Chosen | None, at: int = 1_700_000_000_000) -> tuple[Block, list[str]]:
        """A block with one prediction for each choice, and their ids."""
        block = Block(self.tenant, f"0123456789ab-{next(self._numbers)}")
        ids = []
        for number, each in enumerate(chosen):
            prediction_id = f"{block.name}-{block.size:x}-1"
            ids.append(prediction_id)
            if each is not None:
                block.chosen.append(NewItem(prediction_id, each, at + number, 1, 0.5))
            block.pieces += (b"h", b"x")
            block.count += 1
            block.size += 2
        return block, ids

    async def add(self, *chosen: Chosen | None, at: int = 1_700_000_000_000) -> list[str]:
        block, ids = self.block(*chosen, at=at)
        assert all(isinstance(answer, Written) for answer in await self.predictions.write([block]))
        return ids

    async def lease(
        self, person: str = "aa", limit: int = 1, milliseconds: int = MINUTE, lease: str = "l1"
    ) -> list[str]:
        found = await self.leased(person, limit, milliseconds, lease)
        assert isinstance(found, Leased), found
        return [item.prediction_id for item in found.items]

    async def leased(
        self, person: str, limit: int = 1, milliseconds: int = MINUTE, lease: str = "l1"
    ) -> Leased | NotLeased:
        return await self.store.lease(
            self.tenant, holder="kim", person=person, lease=lease, limit=limit, milliseconds=milliseconds
        )

    async def end(
        self, action: Action, prediction_id: str, person: str = "aa", lease: str = "", milliseconds: int = MINUTE
    ) -> LeaseEnded | NotLeased:
        return await self.store.end_lease(
            self.tenant, action, prediction_id, person=person, lease=lease, milliseconds=milliseconds
        )

    async def label(self, prediction_id: str) -> None:
        position = (await self.log.meta(self.tenant)).position
        assert position is not None
        draft = Draft(b"label", prediction_id=prediction_id)
        (answer,) = await self.log.append([Group(self.tenant, position, [draft])])
        assert isinstance(answer, Appended), answer

    async def sizes(self) -> tuple[int, int]:
        """How many items wait, and how many are leased."""
        (found,) = await self.store.counts([self.tenant])
        assert not isinstance(found, BaseException), found
        return found.changes.waiting, found.changes.leased

    async def keys(self) -> set[bytes]:
        prefix = keys_of(self.tenant).prefix
        return {each for each in await self.connection.redis.keys(f"{prefix}:review:*") if isinstance(each, bytes)}


def uncertain(cost: float = 1.0) -> Chosen:
    return Chosen(UNCERTAIN, 1.0, cost)


def at_random(probability: float = 0.01, cost: float = math.inf) -> Chosen:
    return Chosen(RANDOM, probability, cost)
