"""Predictions kept for feedback by prediction_id: written in blocks after the response, never before it.

A prediction_id names a block, an offset in it and a size, so that many predictions are one write. A mark at the offset
is checked when feedback comes: an id that a client has changed finds nothing.
"""

import asyncio
import logging
import math
import secrets
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from app.learning.review import Chosen
from app.storage.errors import StoreUnavailable
from app.storage.predictions import Block, PredictionStore
from app.storage.redis_keys import keys_of
from app.storage.review.inputs import PREDICTION_ID, InputStore, RawInput
from app.storage.review.queue import NewItem
from app.telemetry.counters import Telemetry
from app.tenants.errors import PredictionExpired
from app.tenants.tenant import Tenant, Verdict

logger = logging.getLogger("sluice.tenants")

# Mark, size of the input, label, score, version, time, the probability with which the review policy chose the
# prediction (0 if it did not), and its reason; the input follows.
HEAD = struct.Struct("<HIbdQQdB")
MARK = 0x51C0
EARLIER_HEAD, EARLIER_MARK = struct.Struct("<HIbdQQ"), 0x51BF  # of versions without a review policy
WRITE_SECONDS = 0.05  # predictions gather for so long, unless there are enough for a round trip
RETRY_SECONDS = 0.5
MOST_WAITING_BYTES = 64 << 20
MOST_WAITING_INPUT_BYTES = MOST_WAITING_BYTES // 2  # beyond these no raw input is kept, but predictions still are
YIELD_BYTES = 8 << 20  # beyond these, a large request waits for the writer between its parts
YIELD_SECONDS = 0.1
BLOCK_BYTES = 1 << 20
BLOCKS_KEPT = 8  # the store drops whole blocks beyond its limit, so one block may be an eighth of it
ROUND_TRIP_BYTES = 2 << 20  # with more, a worker that is busy with requests might exceed the timeout
PACKED_INLINE_BYTES = 16 << 10  # raw inputs beyond these are compressed in a thread
OTHERS_WRITE_SECONDS = 0.15

Chooser = Callable[[Tenant, Verdict, str], Chosen | None]  # the review policy: a tenant, a verdict, its prediction_id
ReadRaw = Callable[[], tuple[str, str | bytes]]  # returns the kind of a raw input, and the input


class KeptPrediction(msgspec.Struct, frozen=True):
    """A prediction as it was served."""

    given: bytes
    label: int
    score: float
    version: int
    at_milliseconds: int
    chosen_with: float = 0.0  # the probability with which the review policy chose it; 0 if it did not
    review_reason: int = 0


class StoreStatus(Protocol):
    """Whether the store is available, as the log follower knows it."""

    trouble: str | None
    away: dict[str, str]  # change feeds on cluster nodes that do not answer


@dataclass(slots=True)
class Room:
    """What this worker may keep until the budget is checked again, and the shards that it has written to."""

    bytes: float = math.inf
    touched: set[str] = field(default_factory=set)


class KeptPredictions:
    """The kept predictions: those of this worker that are not written yet, and in the store those of all workers."""

    def __init__(  # noqa: PLR0913 - collaborators
        self,
        store: PredictionStore,
        status: StoreStatus,
        *,
        enabled: bool,
        telemetry: Telemetry | None = None,
        choose: Chooser | None = None,
        inputs: InputStore | None = None,
    ) -> None:
        self._store = store
        self._inputs = inputs  # None: no raw input is kept
        self._status = status
        self.room = Room()
        self._most_bytes = max(store.at_most_bytes // BLOCKS_KEPT - HEAD.size, 0)  # of one prediction
        self._telemetry = telemetry or Telemetry()
        self._enabled = enabled
        self._choose = choose
        self._most_in_block = max(store.at_most // BLOCKS_KEPT, 1)
        self._block_bytes = min(BLOCK_BYTES, store.at_most_bytes // BLOCKS_KEPT)
        self._prefix = secrets.token_hex(6)
        self._blocks = 0
        self._open: dict[str, Block] = {}  # by tenant
        self._waiting: dict[str, Block] = {}  # by name, including the open ones
        self.waiting_bytes = 0
        self._wake = asyncio.Event()
        self._enough = asyncio.Event()
        self._writing = asyncio.Lock()
        self._written = asyncio.Event()

    def keep(self, tenant: Tenant, given: bytes, verdict: Verdict, raw: ReadRaw | None = None) -> str | None:
        """Keep a prediction and return its id; None if it cannot be kept, or the tenant does not want it.

        Its raw input is kept too if the tenant wants that, and there is room; `raw` is called only then.
        """
        (prediction_id,) = self.keep_all(tenant, (given,), (verdict,))
        if raw is not None and prediction_id is not None and self._inputs is not None:
            wanted = tenant.state.config.values["keep_inputs"]
            if wanted == "all" or (wanted == "review" and self._is_chosen(prediction_id)):
                self._keep_input(tenant, prediction_id, RawInput(*raw()))
        return prediction_id

    def keep_all(self, tenant: Tenant, given: Sequence[bytes], verdicts: Sequence[Verdict]) -> Sequence[str | None]:
        """Do the same for several predictions."""
        if not self._enabled or not tenant.state.config.values["keep_predictions"]:
            return [None] * len(given)
        status = self._status
        is_away = status.trouble is not None or (status.away and keys_of(tenant.name).changes in status.away)
        if is_away or self.waiting_bytes > MOST_WAITING_BYTES or self.room.bytes <= 0.0:
            self._telemetry.not_kept += len(given)
            return [None] * len(given)
        now = time.time_ns() // 1_000_000
        return [self._put(tenant, each, verdict, now) for each, verdict in zip(given, verdicts, strict=True)]

    def _put(self, tenant: Tenant, given: bytes, verdict: Verdict, now: int) -> str | None:
        if len(given) > self._most_bytes:
            self._telemetry.not_kept += 1
            return None
        block = self._open.get(tenant.name) or self._new_block(tenant.name)
        start, size = block.size, HEAD.size + len(given)
        prediction_id, chosen_with, reason = f"{block.name}-{start:x}-{len(given):x}", 0.0, 0
        if self._choose is not None and (chosen := self._choose(tenant, verdict, prediction_id)) is not None:
            chosen_with, reason = chosen.probability, chosen.reason
            block.chosen.append(NewItem(prediction_id, chosen, now, verdict.label, verdict.score))
        head = HEAD.pack(MARK, len(given), verdict.label, verdict.score, verdict.version, now, chosen_with, reason)
        block.pieces += (head, given)
        block.count += 1
        block.size += size
        self.waiting_bytes += size
        self.room.bytes -= size
        if self.waiting_bytes >= ROUND_TRIP_BYTES:
            self._enough.set()
        if block.size >= self._block_bytes or block.count >= self._most_in_block:
            del self._open[tenant.name]
        return prediction_id

    def _is_chosen(self, prediction_id: str) -> bool:
        chosen = self._waiting[prediction_id.rsplit("-", 2)[0]].chosen
        return bool(chosen) and chosen[-1].prediction_id == prediction_id

    def _keep_input(self, tenant: Tenant, prediction_id: str, raw: RawInput) -> None:
        name, start, _ = prediction_id.rsplit("-", 2)
        size, block = len(raw.raw), self._waiting[name]
        if size > min(self._most_bytes, self.room.bytes) or self.waiting_bytes + size > MOST_WAITING_INPUT_BYTES:
            self._telemetry.inputs_not_kept += 1
            return
        block.inputs.append((int(start, 16), raw))
        block.inputs_size += size
        self.waiting_bytes += size
        self.room.bytes -= size
        self._telemetry.inputs_kept += 1
        if block.size + block.inputs_size >= self._block_bytes:
            self._open.pop(tenant.name, None)

    def _new_block(self, tenant: str) -> Block:
        self._blocks += 1
        block = Block(tenant, f"{self._prefix}-{self._blocks}")
        self._open[tenant] = self._waiting[block.name] = block
        self._wake.set()
        return block

    async def give_way(self) -> None:
        """Let other tasks run between two parts of a large request.

        If many predictions wait to be written, wait a moment longer: otherwise the writer, which is one task among
        many, would fall behind and predictions could not be kept. A store that hangs delays the request only briefly.
        """
        if self.waiting_bytes <= YIELD_BYTES or self._status.trouble is not None:
            await asyncio.sleep(0)
            return
        self._written.clear()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._written.wait(), YIELD_SECONDS)

    async def recall(self, tenant: str, prediction_id: str) -> KeptPrediction:
        """Return a prediction of this tenant; raise PredictionExpired if it is not kept."""
        if (match := PREDICTION_ID.fullmatch(prediction_id)) is None:
            raise PredictionExpired(prediction_id)
        block, start, size = match[1], int(match[2], 16), HEAD.size + int(match[3], 16)
        found = self._read_waiting(tenant, block, start, size) or await self._store.read(tenant, block, start, size)
        if not found and not block.startswith(self._prefix):
            await asyncio.sleep(OTHERS_WRITE_SECONDS)  # another worker may be about to write it
            found = await self._store.read(tenant, block, start, size)
        for head, mark in ((HEAD, MARK), (EARLIER_HEAD, EARLIER_MARK)):
            end = size - HEAD.size + head.size
            if len(found) >= end and head.unpack_from(found)[:2] == (mark, end - head.size):
                return KeptPrediction(found[head.size : end], *head.unpack_from(found)[2:])
        raise PredictionExpired(prediction_id)

    def _read_waiting(self, tenant: str, name: str, start: int, size: int) -> bytes:
        block = self._waiting.get(name)
        if block is None or block.tenant != tenant:
            return b""
        return b"".join(block.pieces)[start : start + size]

    async def recall_input(self, tenant: str, prediction_id: str) -> RawInput | None:
        """Return the raw input of a prediction of this tenant; None if it is not kept."""
        if self._inputs is None or (match := PREDICTION_ID.fullmatch(prediction_id)) is None:
            return None
        block, start = self._waiting.get(match[1]), int(match[2], 16)
        if block is not None and block.tenant == tenant:
            return next((raw for at, raw in block.inputs if at == start), None)
        return await self._inputs.read(tenant, prediction_id)

    async def counts(self, tenants: Sequence[str]) -> Sequence[int]:
        """Return the number of predictions in the store for each tenant."""
        return await self._store.counts(tenants)

    async def run(self) -> None:
        """Write waiting predictions until cancelled."""
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
                logger.exception("writing kept predictions failed")
                await asyncio.sleep(RETRY_SECONDS)

    async def _gather(self) -> None:
        """Wait a moment until there is enough for a round trip: one large write costs less than many small ones."""
        self._enough.clear()
        if self.waiting_bytes < ROUND_TRIP_BYTES:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._enough.wait(), WRITE_SECONDS)

    async def write(self) -> None:
        """Write all waiting blocks; those that fail continue to wait."""
        async with self._writing:
            self._open.clear()
            for blocks in _round_trips(list(self._waiting.values())):
                await self._write_blocks(blocks)

    async def _write_blocks(self, blocks: Sequence[Block]) -> None:
        await _pack_inputs([block for block in blocks if block.inputs and not block.packed])
        answers = await self._store.write(blocks)
        for block, answer in zip(blocks, answers, strict=True):
            if not isinstance(answer, BaseException):
                if answer:
                    self._telemetry.tenants.of(block.tenant).reviewed("dropped", answer)
                del self._waiting[block.name]
                self.waiting_bytes -= block.size + block.inputs_size
                self.room.touched.add(keys_of(block.tenant).kept)
        self._written.set()
        failed = [answer for answer in answers if isinstance(answer, BaseException)]
        if failed:
            raise StoreUnavailable(f"some predictions could not be kept yet: {failed[0]}")


async def _pack_inputs(blocks: Sequence[Block]) -> None:
    """Compress raw inputs: in a thread, unless they are small."""

    def pack() -> None:
        for block in blocks:
            block.pack_inputs()

    if sum(block.inputs_size for block in blocks) > PACKED_INLINE_BYTES:
        await asyncio.to_thread(pack)
    else:
        pack()


def _round_trips(blocks: Sequence[Block]) -> Iterator[Sequence[Block]]:
    """Split blocks into parts that are written together."""
    first = size = 0
    for index, block in enumerate(blocks):
        more = block.size + block.inputs_size
        size += more
        if index > first and size > ROUND_TRIP_BYTES:
            yield blocks[first:index]
            first, size = index, more
    if first < len(blocks):
        yield blocks[first:]
