"""Predictions kept for feedback by prediction_id: written in blocks after the response, never before it.

A prediction_id names a block, an offset in it and a size, so that many predictions are one write. A mark at the offset
is checked when feedback comes: an id that a client has changed finds nothing.
"""

import asyncio
import hashlib
import logging
import math
import re
import secrets
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from app.learning.review import Chosen, ReviewPolicy
from app.storage.errors import StoreUnavailable
from app.storage.predictions import Block, ChosenPrediction, PredictionStore
from app.storage.redis_keys import keys_of
from app.telemetry.counters import Telemetry
from app.tenants.errors import PredictionExpired
from app.tenants.tenant import Tenant, Verdict
from kernels.evaluation import review

logger = logging.getLogger("sluice.tenants")

# Mark, size of the input, label, score, version, time, the probability with which the review policy chose the
# prediction (0 if it did not), and its reason; the input follows.
HEAD = struct.Struct("<HIbdQQdB")
MARK = 0x51C0
NOT_CHOSEN = 0.0, 0
EARLIER_HEAD, EARLIER_MARK = struct.Struct("<HIbdQQ"), 0x51BF  # of versions without a review policy
WRITE_SECONDS = 0.05  # predictions gather for so long, unless there are enough for a round trip
RETRY_SECONDS = 0.5
MOST_WAITING_BYTES = 64 << 20
YIELD_BYTES = 8 << 20  # beyond these, a large request waits for the writer between its parts
YIELD_SECONDS = 0.1
BLOCK_BYTES = 1 << 20
BLOCKS_KEPT = 8  # the store drops whole blocks beyond its limit, so one block may be an eighth of it
ROUND_TRIP_BYTES = 2 << 20  # with more, a worker that is busy with requests might exceed the timeout
PREDICTION_ID = re.compile(r"([0-9a-f]{12}-[0-9]{1,15})-([0-9a-f]{1,8})-([0-9a-f]{1,8})")
OTHERS_WRITE_SECONDS = 0.15
MOST_DEMANDS = 10_000  # tenants whose demand for reviews is remembered


class KeptPrediction(msgspec.Struct, frozen=True):
    """A prediction as it was served."""

    given: bytes
    label: int
    score: float
    version: int
    at_milliseconds: int
    chosen_with: float = 0.0  # the probability with which the review policy chose it; 0 if it did not
    review_reason: int = 0


class Kept(msgspec.Struct, frozen=True, gc=False):
    """A prediction that is kept: its id, and how the review policy chose it, if it did."""

    prediction_id: str
    chosen: Chosen | None = None


@dataclass(slots=True)
class Demand:
    """How many reviews the policy of a tenant wants in an hour: of all workers, and of this one since then."""

    known: float = 0.0
    unwritten: float = 0.0


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

    def __init__(
        self, store: PredictionStore, status: StoreStatus, *, enabled: bool, telemetry: Telemetry | None = None
    ) -> None:
        self._store = store
        self._status = status
        self.room = Room()
        self._most_bytes = max(store.at_most_bytes // BLOCKS_KEPT - HEAD.size, 0)  # of one prediction
        self._telemetry = telemetry or Telemetry()
        self._enabled = enabled
        self._most_in_block = max(store.at_most // BLOCKS_KEPT, 1)
        self._block_bytes = min(BLOCK_BYTES, store.at_most_bytes // BLOCKS_KEPT)
        self._prefix = secrets.token_hex(6)
        self._blocks = 0
        self._open: dict[str, Block] = {}  # by tenant
        self._waiting: dict[str, Block] = {}  # by name, including the open ones
        self._demands: dict[str, Demand] = {}  # by tenant
        self.waiting_bytes = 0
        self._wake = asyncio.Event()
        self._enough = asyncio.Event()
        self._writing = asyncio.Lock()
        self._written = asyncio.Event()

    def keep(self, tenant: Tenant, given: bytes, verdict: Verdict) -> Kept | None:
        """Keep a prediction, and let the review policy choose; None if it cannot be kept, or the tenant wants none."""
        (kept,) = self.keep_all(tenant, (given,), (verdict,))
        return kept

    def keep_all(self, tenant: Tenant, given: Sequence[bytes], verdicts: Sequence[Verdict]) -> Sequence[Kept | None]:
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

    def _put(self, tenant: Tenant, given: bytes, verdict: Verdict, now: int) -> Kept | None:
        if len(given) > self._most_bytes:
            self._telemetry.not_kept += 1
            return None
        block = self._open.get(tenant.name) or self._new_block(tenant.name)
        start = block.size
        prediction_id = f"{block.name}-{start:x}-{len(given):x}"
        policy = tenant.state.policy
        chosen = None if policy is None else self._choose(tenant, policy, verdict, prediction_id, block)
        probability, reason = NOT_CHOSEN if chosen is None else (chosen.probability, chosen.reason)
        head = HEAD.pack(MARK, len(given), verdict.label, verdict.score, verdict.version, now, probability, reason)
        if chosen is not None:
            found = ChosenPrediction(tenant.name, prediction_id, chosen, now, verdict.label, verdict.score)
            block.chosen.append(found)
        size = len(head) + len(given)
        block.pieces += (head, given)
        block.count += 1
        block.size += size
        self.waiting_bytes += size
        self.room.bytes -= size
        if self.waiting_bytes >= ROUND_TRIP_BYTES:
            self._enough.set()
        if block.size >= self._block_bytes or block.count >= self._most_in_block:
            del self._open[tenant.name]
        return Kept(prediction_id, chosen)

    def _choose(
        self, tenant: Tenant, policy: ReviewPolicy, verdict: Verdict, prediction_id: str, block: Block
    ) -> Chosen | None:
        """Choose by a hash of the id under the tenant's secret incarnation; the budget scales all shares."""
        state, score, is_flagged = tenant.state, verdict.score, verdict.label > 0
        reason, share = state.review_of(score, verdict.label)
        pace = 1.0
        if policy.per_hour is not None:
            demand = self._demands.get(tenant.name) or self._new_demand(tenant.name)
            demand.unwritten += share
            block.wanted = share + (block.wanted or 0.0)
            pace = min(policy.per_hour / max(demand.known + demand.unwritten, policy.per_hour), 1.0)
        draw = draw_of(prediction_id, tenant.incarnation)
        if draw >= share * pace:
            return None
        named = review.named_reason(reason, is_flagged, draw, policy.uncertain * pace, policy.flagged * pace)
        return Chosen(named, share * pace, state.expected_cost(score, verdict.label))

    def _new_demand(self, tenant: str) -> Demand:
        if len(self._demands) >= MOST_DEMANDS:
            self._demands.clear()  # the next answers of the store restore them
        self._demands[tenant] = Demand()
        return self._demands[tenant]

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
        answers = await self._store.write(blocks)
        for block, answer in zip(blocks, answers, strict=True):
            if not isinstance(answer, BaseException):
                del self._waiting[block.name]
                self.waiting_bytes -= block.size
                self.room.touched.add(keys_of(block.tenant).kept)
                if block.wanted is not None and (demand := self._demands.get(block.tenant)) is not None:
                    demand.known = float(answer)
                    demand.unwritten = max(demand.unwritten - block.wanted, 0.0)
        self._written.set()
        failed = [answer for answer in answers if isinstance(answer, BaseException)]
        if failed:
            raise StoreUnavailable(f"some predictions could not be kept yet: {failed[0]}")


def draw_of(prediction_id: str, incarnation: str) -> float:
    """Return a number in [0, 1) that looks random to everybody who does not know the incarnation."""
    found = hashlib.blake2b(prediction_id.encode(), digest_size=8, key=incarnation.encode()[:64]).digest()
    return (int.from_bytes(found, "little") >> 11) * 2.0**-53


def _round_trips(blocks: Sequence[Block]) -> Iterator[Sequence[Block]]:
    """Split blocks into parts that are written together."""
    first = size = 0
    for index, block in enumerate(blocks):
        size += block.size
        if index > first and size > ROUND_TRIP_BYTES:
            yield blocks[first:index]
            first, size = index, block.size
    if first < len(blocks):
        yield blocks[first:]
