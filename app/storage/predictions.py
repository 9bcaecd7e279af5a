"""Kept predictions in Redis: many are written as one string, and each is read by its offset in it."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

import msgspec

from app.storage.client import scripts
from app.storage.client.connection import Call, Connection
from app.storage.client.wire import Argument
from app.storage.redis_keys import SHARDS, kept_of, keys_of
from app.storage.review.inputs import ENTRY_BYTES, RawInput, field_of, inputs_key, pack_input
from app.storage.review.queue import NewItem, QueueLimits

MOST_BYTES = 64 << 20
FREED_TOGETHER = 16  # tenants in one round trip
BLOCKS_FREED = 1000  # of a tenant in one call, which blocks the store


class Block(msgspec.Struct):
    """Predictions of one tenant that are written together."""

    tenant: str
    name: str
    pieces: list[bytes] = []  # two for each prediction; msgspec gives every block a list of its own
    count: int = 0
    size: int = 0
    chosen: list[NewItem] = []  # those of them that the review policy has chosen
    wanted: float | None = None  # how many reviews the policy wants of them, if it has a budget
    inputs: list[tuple[int, RawInput]] = []  # raw inputs that are kept, by the offsets of their predictions
    inputs_size: int = 0  # of these, not compressed
    packed: list[bytes] = []  # fields and values of the inputs, as they are written

    def pack_inputs(self) -> None:
        """Compress the raw inputs; this may take long."""
        self.packed = [each for start, given in self.inputs for each in (field_of(start), pack_input(given))]


class Written(msgspec.Struct, frozen=True):
    """What the write of a block has changed."""

    dropped: int  # items that the review queue of its tenant has dropped
    demand: float | None  # how many reviews of its tenant all workers want in an hour, if its policy has a budget


class PredictionStore:
    """The kept predictions of all tenants."""

    def __init__(
        self,
        connection: Connection,
        ttl_seconds: int,
        at_most: int,
        at_most_bytes: int = MOST_BYTES,
        review: QueueLimits = QueueLimits(),  # noqa: B008 - it is frozen
    ) -> None:
        self._connection = connection
        self._ttl_milliseconds = 1000 * ttl_seconds
        self.at_most = at_most  # predictions of one tenant,
        self.at_most_bytes = at_most_bytes  # and their bytes
        self._review = review

    async def write(self, blocks: Sequence[Block]) -> list[BaseException | Written]:
        """Write blocks in one round trip; an exception takes the place of one that failed.

        The demand for reviews is that of this hour, and the part of the hour before that a window of an hour still has.
        """
        answers = await self._connection.run_all([self.keep_call(block) for block in blocks])
        return [answer if isinstance(answer, BaseException) else _written(*answer) for answer in answers]

    def keep_call(self, block: Block) -> Call:
        """Return the call that writes a block."""
        keys = keys_of(block.tenant)
        predictions = b"".join(block.pieces)
        arguments: list[Argument] = [block.name, block.count, predictions, self._ttl_milliseconds, self.at_most]
        arguments += [block.tenant, self.at_most_bytes, self._review.items, self._review.bytes]
        arguments += ["" if block.wanted is None else repr(block.wanted)]
        arguments += [ENTRY_BYTES, len(block.packed) // 2, *block.packed]
        for item in block.chosen:
            arguments += (item.prediction_id, item.facts)
        names = [keys.pending, keys.pending_count, f"{keys.pending}:{block.name}", keys.kept]
        names += [inputs_key(block.tenant, block.name), keys.pending_demand]
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

        A tenant can lose all that it keeps, because predictions are dropped by blocks. So no more tenants are asked at
        once than could lose the excess; otherwise, tenants with one large block each would all lose it.
        """
        total = sum(kept.values())
        largest_first = sorted((name for name, size in kept.items() if size > level_bytes), key=kept.__getitem__)[::-1]
        done = 0
        while total > target_bytes and done < len(largest_first):
            most = list(accumulate(kept[name] for name in largest_first[done : done + FREED_TOGETHER]))
            some = largest_first[done : done + min(1 + bisect_left(most, total - target_bytes), FREED_TOGETHER)]
            left = await self._connection.run_all([self._free_call(tenant, level_bytes) for tenant in some])
            total -= sum(kept[name] - size for name, size in zip(some, left, strict=True) if isinstance(size, int))
            done += len(some)

    def _free_call(self, tenant: str, level_bytes: int) -> Call:
        keys = keys_of(tenant)
        return Call(scripts.FREE, [keys.pending, keys.pending_count, keys.kept], [tenant, level_bytes, BLOCKS_FREED])


def _written(dropped: int, demand: bytes) -> Written:
    return Written(int(dropped), float(demand) if demand else None)
