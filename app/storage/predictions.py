"""Kept predictions in Redis: many are written as one string, and each is read by its offset in it."""

from collections.abc import Sequence

import msgspec

from app.learning.review import Chosen
from app.storage.client import scripts
from app.storage.client.connection import Call, Connection
from app.storage.client.wire import Argument
from app.storage.redis_keys import SHARDS, kept_of, keys_of

MOST_BYTES = 64 << 20
FREED_TOGETHER = 16  # tenants in one round trip
BLOCKS_FREED = 1000  # of a tenant in one call, which blocks the store


class ChosenPrediction(msgspec.Struct, frozen=True):
    """A prediction that the review policy chose."""

    tenant: str
    prediction_id: str
    chosen: Chosen
    at_milliseconds: int
    label: int
    score: float


class Block(msgspec.Struct):
    """Predictions of one tenant that are written together."""

    tenant: str
    name: str
    pieces: list[bytes] = []  # two for each prediction; msgspec gives every block a list of its own
    count: int = 0
    size: int = 0
    chosen: list[ChosenPrediction] = []
    wanted: float | None = None  # how many reviews the policy of a tenant with a budget wants of them


class PredictionStore:
    """The kept predictions of all tenants."""

    def __init__(self, connection: Connection, ttl_seconds: int, at_most: int, at_most_bytes: int = MOST_BYTES) -> None:
        self._connection = connection
        self._ttl_milliseconds = 1000 * ttl_seconds
        self.at_most = at_most  # predictions of one tenant,
        self.at_most_bytes = at_most_bytes  # and their bytes

    async def write(self, blocks: Sequence[Block]) -> list[BaseException | int | bytes]:
        """Write blocks in one round trip; an exception takes the place of one that failed.

        For a block with `wanted`, return how many reviews of its tenant all workers want in an hour, as a number in
        text: those of this hour, and the part of the hour before that a window of an hour still has.
        """
        return await self._connection.run_all([self._keep_call(block) for block in blocks])

    def _keep_call(self, block: Block) -> Call:
        keys = keys_of(block.tenant)
        predictions = b"".join(block.pieces)
        arguments: list[Argument] = [block.name, block.count, predictions, self._ttl_milliseconds, self.at_most]
        arguments += [block.tenant, self.at_most_bytes, "" if block.wanted is None else repr(block.wanted)]
        names = [keys.pending, keys.pending_count, f"{keys.pending}:{block.name}", keys.kept, keys.pending_demand]
        return Call(scripts.KEEP, names, arguments)

    async def counts(self, tenants: Sequence[str]) -> list[int]:
        """Return the number of kept predictions of each tenant."""
        found = await self._connection.ask_all([("GET", keys_of(tenant).pending_count) for tenant in tenants])
        return [int(count or 0) for count in found]

    async def read(self, tenant: str, block: str, start: int, size: int) -> bytes:
        """Return some bytes of a block: fewer if it is shorter, none if it is gone."""
        key = f"{keys_of(tenant).pending}:{block}"
        found: bytes = await self._connection.ask("GETRANGE", key, start, start + size - 1)
        return found

    async def kept_bytes(self, shards: Sequence[str]) -> list[int | BaseException]:
        """Return the bytes kept in each shard, given by its key; an exception for one that cannot be read."""
        calls = [Call(scripts.KEPT_BYTES, [kept], [kept.removesuffix("kept"), ":pending"]) for kept in shards]
        return await self._connection.run_all(calls)

    async def bytes_by_tenant(self) -> dict[str, int]:
        """Return the bytes that each tenant keeps, without those on cluster nodes that are down."""
        found = await self._connection.ask_nodes([("HGETALL", kept_of(shard)) for shard in SHARDS])
        pairs = [answer for answer in found if isinstance(answer, list)]
        return {each[i].decode(): int(each[i + 1]) for each in pairs for i in range(0, len(each), 2)}

    async def free(self, kept: dict[str, int], level_bytes: int, target_bytes: int) -> None:
        """Drop the oldest predictions of tenants above the level, largest first, until all keep at most the target.

        A tenant can lose more than the excess, because predictions are dropped by blocks. So the total is compared
        after each round trip; otherwise, tenants with one large block each would all lose it.
        """
        total = sum(kept.values())
        largest_first = sorted((name for name, size in kept.items() if size > level_bytes), key=kept.__getitem__)[::-1]
        for start in range(0, len(largest_first), FREED_TOGETHER):
            if total <= target_bytes:
                return
            some = largest_first[start : start + FREED_TOGETHER]
            left = await self._connection.run_all([self._free_call(tenant, level_bytes) for tenant in some])
            total -= sum(kept[name] - size for name, size in zip(some, left, strict=True) if isinstance(size, int))

    def _free_call(self, tenant: str, level_bytes: int) -> Call:
        keys = keys_of(tenant)
        return Call(scripts.FREE, [keys.pending, keys.pending_count, keys.kept], [tenant, level_bytes, BLOCKS_FREED])
