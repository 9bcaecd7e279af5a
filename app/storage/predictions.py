"""Kept predictions in Redis: many are written as one string, and each is read by its place in it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from app.storage.client import scripts
from app.storage.client.commands import ask, ask_all
from app.storage.client.connection import Connection
from app.storage.client.transport import Argument
from app.storage.redis_keys import keys_of


@dataclass(slots=True)
class Block:
    """Predictions of one tenant that are written together."""

    tenant: str
    name: str
    pieces: list[bytes] = field(default_factory=list)  # two make up a prediction
    count: int = 0
    size: int = 0

    def add(self, head: bytes, given: bytes = b"") -> int:
        """Put a prediction behind the others; return where it begins."""
        start = self.size
        self.pieces += (head, given)
        self.count += 1
        self.size = start + len(head) + len(given)
        return start


class PendingStore:
    """Where kept predictions lie."""

    def __init__(self, connection: Connection, ttl_seconds: int, at_most: int) -> None:
        self._connection = connection
        self._ttl_milliseconds = 1000 * ttl_seconds
        self.at_most = at_most

    async def write(self, blocks: Sequence[Block]) -> list[BaseException | int]:
        """Write blocks in one journey; an exception stands in place of one that failed."""
        return await scripts.run_all(self._connection, [self._call(block) for block in blocks])

    def _call(self, block: Block) -> scripts.Call:
        keys = keys_of(block.tenant)
        predictions = b"".join(block.pieces)
        arguments: list[Argument] = [block.name, block.count, predictions, self._ttl_milliseconds, self.at_most]
        return scripts.Call(scripts.KEEP, [keys.pending, keys.pending_count, keys.block(block.name)], arguments)

    async def counts(self, tenants: Sequence[str]) -> list[int]:
        """How many predictions are kept of each tenant."""
        found = await ask_all(self._connection, [("GET", keys_of(tenant).pending_count) for tenant in tenants])
        return [int(count or 0) for count in found]

    async def read(self, tenant: str, block: str, start: int, size: int) -> bytes:
        """So many bytes of a block; fewer if there are fewer, none if the block is gone."""
        stop = start + size - 1
        found: bytes = await ask(self._connection, "GETRANGE", keys_of(tenant).block(block), start, stop)
        return found
