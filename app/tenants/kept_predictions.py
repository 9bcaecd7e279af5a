"""Predictions kept for feedback by their id: written behind the answer, in blocks, never on its path.

A prediction_id is the name of a block and a place in it, so that many predictions are one write. The place is checked
when somebody comes back with it: whoever changes an id finds nothing.
"""

import asyncio
import logging
import re
import secrets
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from app.storage.errors import StoreUnavailable
from app.storage.predictions import Block, PendingStore
from app.telemetry.counters import Telemetry
from app.tenants.errors import PredictionExpired
from app.tenants.tenant import Tenant, Verdict

logger = logging.getLogger("sluice.tenants")

HEAD = struct.Struct("<HIbdQQ")  # a mark, size of the input, label, score, version, time; the input follows
MARK = 0x51BF
WRITE_SECONDS = 0.05  # predictions of a tenant gather for so long, unless there are enough for a journey
RETRY_SECONDS = 0.5
BYTES_WAITING = 64 << 20
BYTES_ENOUGH = 8 << 20  # from here on, whoever predicts many at once waits for the writer
WAY_SECONDS = 0.1
BLOCK_BYTES = 1 << 20
SHARE_OF_KEPT = 8
JOURNEY_BYTES = 2 << 20  # more at once might not arrive in time from a worker that is busy with requests
ID = re.compile(r"([0-9a-f]{12}-[0-9]{1,15})-([0-9a-f]{1,8})-([0-9a-f]{1,8})")
OTHERS_WRITE_SECONDS = 0.15


@dataclass(frozen=True, slots=True)
class Kept:
    """A prediction as it was served."""

    given: bytes
    label: int
    score: float
    version: int
    at_milliseconds: int


class Trouble(Protocol):
    """Says whether the store is out of reach."""

    trouble: str | None

    def trouble_with(self, tenant: str) -> str | None:
        """The same for one tenant: of a cluster, only its node may be away."""


class Pending:
    """The kept predictions of this worker, until they are written, and of all workers after that."""

    def __init__(
        self, store: PendingStore, contact: Trouble, *, enabled: bool, telemetry: Telemetry | None = None
    ) -> None:
        self._store = store
        self._contact = contact
        self._telemetry = telemetry or Telemetry()
        self._enabled = enabled
        # The store drops whole blocks beyond its limit: a block must be a small part of what it keeps.
        self._most_in_block = max(store.at_most // SHARE_OF_KEPT, 1)
        self._prefix = secrets.token_hex(6)
        self._blocks = 0
        self._open: dict[str, Block] = {}  # by tenant
        self._waiting: dict[str, Block] = {}  # by name, open ones included
        self._bytes = 0
        self._wake = asyncio.Event()
        self._enough = asyncio.Event()
        self._writing = asyncio.Lock()
        self._written = asyncio.Event()

    def keep(self, tenant: Tenant, given: bytes, verdict: Verdict) -> str | None:
        """The id under which feedback may come; None if the prediction cannot be kept, or is not to be."""
        (prediction_id,) = self.keep_all(tenant, (given,), (verdict,))
        return prediction_id

    def keep_all(self, tenant: Tenant, given: Sequence[bytes], verdicts: Sequence[Verdict]) -> Sequence[str | None]:
        """The same for several predictions."""
        if not self._enabled or not tenant.state.config.values["keep_predictions"]:
            return [None] * len(given)
        if self._contact.trouble_with(tenant.name) is not None or self._bytes > BYTES_WAITING:
            self._telemetry.not_kept += len(given)
            return [None] * len(given)
        now = time.time_ns() // 1_000_000
        return [self._put(tenant.name, each, verdict, now) for each, verdict in zip(given, verdicts, strict=True)]

    def _put(self, tenant: str, given: bytes, verdict: Verdict, now: int) -> str:
        block = self._open.get(tenant) or self._new_block(tenant)
        head = HEAD.pack(MARK, len(given), verdict.label, verdict.score, verdict.version, now)
        start = block.add(head, given)
        self._bytes += len(head) + len(given)
        if self._bytes >= JOURNEY_BYTES:
            self._enough.set()
        if block.size >= BLOCK_BYTES or block.count >= self._most_in_block:
            del self._open[tenant]
        return f"{block.name}-{start:x}-{len(given):x}"

    async def give_way(self) -> None:
        """Let others have their turn, between two parts of a large request.

        Where many predictions wait to be written, a moment longer: otherwise the writer, who is one among many, would
        fall behind, and predictions could not be kept. A store that hangs delays nobody for long.
        """
        if self._bytes <= BYTES_ENOUGH or self._contact.trouble is not None:
            await asyncio.sleep(0)
            return
        self._written.clear()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._written.wait(), WAY_SECONDS)

    def _new_block(self, tenant: str) -> Block:
        self._blocks += 1
        block = Block(tenant, f"{self._prefix}-{self._blocks}")
        self._open[tenant] = self._waiting[block.name] = block
        self._wake.set()
        return block

    async def recall(self, tenant: str, prediction_id: str) -> Kept:
        """A prediction of this tenant; PredictionExpired if it is not kept."""
        if (match := ID.fullmatch(prediction_id)) is None:
            raise PredictionExpired(prediction_id)
        block, start, size = match[1], int(match[2], 16), HEAD.size + int(match[3], 16)
        found = self._recall_here(tenant, block, start, size) or await self._store.read(tenant, block, start, size)
        if not found and not block.startswith(self._prefix):
            await asyncio.sleep(OTHERS_WRITE_SECONDS)  # another worker may be about to write it
            found = await self._store.read(tenant, block, start, size)
        if len(found) != size or HEAD.unpack_from(found)[:2] != (MARK, size - HEAD.size):
            raise PredictionExpired(prediction_id)
        return Kept(found[HEAD.size :], *HEAD.unpack_from(found)[2:])

    def _recall_here(self, tenant: str, name: str, start: int, size: int) -> bytes:
        block = self._waiting.get(name)
        if block is None or block.tenant != tenant:
            return b""
        return b"".join(block.pieces)[start : start + size]

    @property
    def waiting_bytes(self) -> int:
        """Kept predictions that are not written yet."""
        return self._bytes

    async def counts(self, tenants: Sequence[str]) -> Sequence[int]:
        """How many predictions the store keeps of each tenant."""
        return await self._store.counts(tenants)

    async def run(self) -> None:
        """Write what waits, soon, until cancelled."""
        while True:
            await self._wake.wait()
            await self._gather()
            self._wake.clear()
            try:
                await self.write()
            except StoreUnavailable:
                self._wake.set()
                await asyncio.sleep(RETRY_SECONDS)
            except Exception:
                logger.exception("keeping predictions")
                await asyncio.sleep(RETRY_SECONDS)

    async def _gather(self) -> None:
        """Wait until there is enough for a journey, but not for long: one write of many costs less than many."""
        self._enough.clear()
        if self._bytes < JOURNEY_BYTES:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._enough.wait(), WRITE_SECONDS)

    async def write(self) -> None:
        """Write all blocks that wait; those that fail go on waiting."""
        async with self._writing:
            await self._write()

    async def _write(self) -> None:
        self._open.clear()
        for blocks in _journeys(list(self._waiting.values())):
            await self._write_some(blocks)

    async def _write_some(self, blocks: Sequence[Block]) -> None:
        answers = await self._store.write(blocks)
        for block, answer in zip(blocks, answers, strict=True):
            if not isinstance(answer, BaseException):
                del self._waiting[block.name]
                self._bytes -= block.size
        self._written.set()
        failed = [answer for answer in answers if isinstance(answer, BaseException)]
        if failed:
            raise StoreUnavailable(f"some predictions could not be kept yet: {failed[0]}")


def _journeys(blocks: Sequence[Block]) -> Iterator[Sequence[Block]]:
    """The blocks in parts that are written together."""
    first = size = 0
    for index, block in enumerate(blocks):
        size += block.size
        if index > first and size > JOURNEY_BYTES:
            yield blocks[first:index]
            first, size = index, block.size
    if first < len(blocks):
        yield blocks[first:]
