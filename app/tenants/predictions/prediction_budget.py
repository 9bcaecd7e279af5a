"""The budget of all kept predictions: labels must find room in the store, whatever is predicted.

Kept predictions are the only data that the store can do without. So nothing more is kept while all of them exceed
their budget or the store is nearly full, and the oldest ones of those tenants that keep most are dropped.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import cycle, islice

from app.storage.errors import StoreUnavailable
from app.storage.memory import NodeMemory
from app.storage.predictions import PredictionStore
from app.storage.redis_keys import SHARDS, kept_of
from app.tenants.predictions.kept_predictions import KeptPredictions

CHECK_SECONDS = 0.5
SHARDS_AT_ONCE = 16  # that are counted in each check, beside those that this worker has written to
MOST_OF_LIMIT = 0.25  # of the memory limit of the store: the largest budget
HIGH, LOW = 0.8, 0.75  # of that limit: above the one, predictions are dropped until the other

logger = logging.getLogger("sluice.tenants")


class PredictionBudget:
    """Counts what all workers keep, limits what this worker may add, and frees what is too much."""

    def __init__(
        self,
        store: PredictionStore,
        kept: KeptPredictions,
        read_memory: Callable[[], Awaitable[Sequence[NodeMemory]]],
        at_most_bytes: int,
    ) -> None:
        self._store = store
        self._predictions = kept
        self._room = kept.room
        self._read_memory = read_memory
        self._at_most_bytes = at_most_bytes
        self._shards = cycle(map(kept_of, SHARDS))
        self._kept: dict[str, int] = {}  # by shard
        self._is_tight = False
        self.limit_bytes = at_most_bytes
        self.memory = NodeMemory(0, 0)  # of the fullest node

    @property
    def kept_bytes(self) -> int:
        """The bytes that are kept for all tenants, as far as this worker has counted them."""
        return sum(self._kept.values())

    async def run(self) -> None:
        """Check until cancelled."""
        while True:
            try:
                await self.check()
            except StoreUnavailable:
                pass  # the follower of the logs reports it
            except Exception:
                logger.exception("the budget of kept predictions cannot be checked")
            await asyncio.sleep(CHECK_SECONDS)

    async def check(self) -> None:
        """Count, free what is too much, and decide how much may be kept until the next check."""
        nodes = [node for node in await self._read_memory() if node.limit]
        await self._count()
        limits = sum(node.limit for node in nodes)
        self.limit_bytes = min(self._at_most_bytes, int(MOST_OF_LIMIT * limits)) if limits else self._at_most_bytes
        self.memory = max(nodes, key=lambda node: node.share, default=NodeMemory(0, 0))
        excess = max(self.kept_bytes - self.limit_bytes, 0)
        if self.memory.share > HIGH:  # as if kept predictions were spread evenly over the nodes
            excess = max(excess, len(nodes) * (self.memory.used - int(LOW * self.memory.limit)))
        if excess > 0:
            await self._free(max(self.kept_bytes - excess, 0))
        rooms = [len(nodes) * (HIGH * node.limit - node.used) for node in nodes]
        # Half of it: other workers keep predictions too, and each believes that it has the room for itself.
        room = min([self.limit_bytes - self.kept_bytes, *rooms]) / 2.0
        self._room.bytes = room - self._predictions.waiting_bytes
        self._report()

    async def _count(self) -> None:
        shards = list(self._room.touched | set(islice(self._shards, SHARDS_AT_ONCE)))
        self._room.touched.clear()
        for shard, found in zip(shards, await self._store.kept_bytes(shards), strict=True):
            if isinstance(found, int):  # else its node is down
                self._kept[shard] = found

    async def _free(self, target_bytes: int) -> None:
        kept = await self._store.bytes_by_tenant()
        await self._store.free(kept, level_of(kept.values(), target_bytes), target_bytes)
        self._room.touched |= set(map(kept_of, SHARDS))  # count them all again
        await self._count()

    def _report(self) -> None:
        is_tight, self._is_tight = self._is_tight, self._room.bytes <= 0.0
        if self._is_tight and not is_tight:
            logger.warning(
                "predictions are not kept for feedback now: %d of %d bytes are kept, and the store is %.0f%% full",
                self.kept_bytes, self.limit_bytes, 100.0 * self.memory.share,
            )  # fmt: skip


def level_of(sizes: Iterable[int], target: int) -> int:
    """Return the level to which all larger sizes have to be cut so that the sum is at most the target."""
    left, ordered = target, sorted(sizes)
    for index, size in enumerate(ordered):
        share = left // (len(ordered) - index)
        if size > share:
            return share
        left -= size
    return ordered[-1] if ordered else 0
