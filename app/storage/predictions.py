"""Kept predictions in Redis: many are written as one string, and each is read by its offset in it."""

from collections.abc import Sequence

import msgspec

from app.storage.client import scripts
from app.storage.client.connection import Argument, Call, Connection
from app.storage.redis_keys import keys_of


class Block(msgspec.Struct):
    """Predictions of one tenant that are written together."""

    tenant: str
    name: str
    pieces: list[bytes] = []  # two for each prediction; msgspec gives every block a list of its own
    count: int = 0
    size: int = 0


class PredictionStore:
    """The kept predictions of all tenants."""

    def __init__(self, connection: Connection, ttl_seconds: int, at_most: int) -> None:
        self._connection = connection
        self._ttl_milliseconds = 1000 * ttl_seconds
        self.at_most = at_most

    async def write(self, blocks: Sequence[Block]) -> list[BaseException | int]:
        """Write blocks in one round trip; an exception takes the place of one that failed."""
        return await self._connection.run_all([self._keep_call(block) for block in blocks])

    def _keep_call(self, block: Block) -> Call:
        keys = keys_of(block.tenant)
        predictions = b"".join(block.pieces)
        arguments: list[Argument] = [block.name, block.count, predictions, self._ttl_milliseconds, self.at_most]
        return Call(scripts.KEEP, [keys.pending, keys.pending_count, f"{keys.pending}:{block.name}"], arguments)

    async def counts(self, tenants: Sequence[str]) -> list[int]:
        """Return the number of kept predictions of each tenant."""
        found = await self._connection.ask_all([("GET", keys_of(tenant).pending_count) for tenant in tenants])
        return [int(count or 0) for count in found]

    async def read(self, tenant: str, block: str, start: int, size: int) -> bytes:
        """Return some bytes of a block: fewer if it is shorter, none if it is gone."""
        key = f"{keys_of(tenant).pending}:{block}"
        found: bytes = await self._connection.ask("GETRANGE", key, start, start + size - 1)
        return found
