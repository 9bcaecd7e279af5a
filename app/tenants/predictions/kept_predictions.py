"""Predictions kept for feedback by prediction_id: written in blocks after the response, never before it.

A prediction_id names a block, an offset in it and a size, so that many predictions are one write. A mark at the offset
is checked when feedback comes: an id that a client has changed finds nothing.
"""

import asyncio
import hashlib
import logging
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from app.learning.review import Chosen, ReviewPolicy
from app.storage.errors import StoreUnavailable
from app.storage.predictions import Block, PredictionStore
from app.storage.redis_keys import keys_of
from app.storage.review.inputs import PREDICTION_ID, InputStore, RawInput
from app.storage.review.queue import NewItem
from app.telemetry.counters import Telemetry
from app.tenants.errors import PredictionExpired
from app.tenants.predictions.blocks import (
    EARLIER_HEAD,
    EARLIER_MARK,
    HEAD,
    MARK,
    ROUND_TRIP_BYTES,
    Demand,
    Kept,
    KeptPrediction,
    Room,
    StoreStatus,
    pack_inputs,
    round_trips,
)
from app.tenants.tenant import Tenant, Verdict
from kernels.evaluation import review

logger = logging.getLogger("sluice.tenants")

WRITE_SECONDS = 0.05  # predictions gather for so long, unless there are enough for a round trip
RETRY_SECONDS = 0.5
MOST_WAITING_BYTES = 64 << 20
MOST_WAITING_INPUT_BYTES = MOST_WAITING_BYTES // 2  # beyond these no raw input is kept, but predictions still are
YIELD_BYTES = 8 << 20  # beyond these, a large request waits for the writer between its parts
YIELD_SECONDS = 0.1
BLOCK_BYTES = 1 << 20
BLOCKS_KEPT = 8  # the store drops whole blocks beyond its limit, so one block may be an eighth of it
OTHERS_WRITE_SECONDS = 0.15
MOST_DEMANDS = 10_000  # tenants whose demand for reviews is remembered

ReadRaw = Callable[[], tuple[str, str | bytes]]  # returns the kind of a raw input, and the input


class ReviewChoice:
    """Chooses predictions for review, and remembers the demand of each tenant that has a budget."""

    def __init__(self) -> None:
        self._demands: dict[str, Demand] = {}  # by tenant

    def choose(self, tenant: Tenant, verdict: Verdict, prediction_id: str, block: Block) -> Chosen | None:
        """Choose by a hash of the id under the tenant's secret incarnation; the budget scales all shares."""
        policy = tenant.state.policy
        if policy is None:
            return None
        state, score, is_flagged = tenant.state, verdict.score, verdict.label > 0
        reason, share = state.review_of(score, verdict.label)
        pace = self._pace(tenant.name, policy, share, block)
        draw = draw_of(prediction_id, tenant.incarnation)
        if draw >= share * pace:
            return None
        named = review.named_reason(reason, is_flagged, draw, policy.uncertain * pace, policy.flagged * pace)
        return Chosen(named, share * pace, state.expected_cost(score, verdict.label))

    def _pace(self, tenant: str, policy: ReviewPolicy, share: float, block: Block) -> float:
        """Return the factor of all shares with which the choices fit the budget."""
        if policy.per_hour is None:
            return 1.0
        demand = self._demands.get(tenant) or self._new_demand(tenant)
        demand.unwritten += share
        block.wanted = share + (block.wanted or 0.0)
        return min(policy.per_hour / max(demand.known + demand.unwritten, policy.per_hour), 1.0)

    def _new_demand(self, tenant: str) -> Demand:
        if len(self._demands) >= MOST_DEMANDS:
            self._demands.clear()  # the next answers of the store restore them
        self._demands[tenant] = Demand()
        return self._demands[tenant]

    def note(self, block: Block, known: float | None) -> None:
        """Note the demand of all workers, which a written block is part of."""
        demand = self._demands.get(block.tenant)
        if known is not None and block.wanted is not None and demand is not None:
            demand.known = known
            demand.unwritten = max(demand.unwritten - block.wanted, 0.0)


def draw_of(prediction_id: str, incarnation: str) -> float:
    """Return a number in [0, 1) that looks random to everybody who does not know the incarnation."""
    found = hashlib.blake2b(prediction_id.encode(), digest_size=8, key=incarnation.encode()[:64]).digest()
    return (int.from_bytes(found, "little") >> 11) * 2.0**-53


class KeptPredictions:
    """The kept predictions: those of this worker that are not written yet, and in the store those of all workers."""

    def __init__(  # noqa: PLR0913 - collaborators
        self,
        store: PredictionStore,
        status: StoreStatus,
        *,
        enabled: bool,
        telemetry: Telemetry | None = None,
        choice: ReviewChoice | None = None,
        inputs: InputStore | None = None,
    ) -> None:
        self._store = store
        self._inputs = inputs  # None: no raw input is kept
        self._status = status
        self.room = Room()
        self._most_bytes = max(store.at_most_bytes // BLOCKS_KEPT - HEAD.size, 0)  # of one prediction
        self._telemetry = telemetry or Telemetry()
        self._enabled = enabled
        self._choice = choice or ReviewChoice()
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

    def keep(self, tenant: Tenant, given: bytes, verdict: Verdict, raw: ReadRaw | None = None) -> Kept | None:
        """Keep a prediction, and let the review policy choose; None if it cannot be kept, or the tenant wants none.

        Its raw input is kept too if the tenant wants that, and there is room; `raw` is called only then.
        """
        (kept,) = self.keep_all(tenant, (given,), (verdict,))
        if raw is not None and kept is not None and self._inputs is not None:
            wanted = tenant.state.config.values["keep_inputs"]
            if wanted == "all" or (wanted == "review" and kept.chosen is not None):
                self._keep_input(tenant, kept.prediction_id, RawInput(*raw()))
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
        start, size = block.size, HEAD.size + len(given)
        prediction_id, probability, reason = f"{block.name}-{start:x}-{len(given):x}", 0.0, 0
        chosen = self._choice.choose(tenant, verdict, prediction_id, block)
        if chosen is not None:
            probability, reason = chosen.probability, chosen.reason
            block.chosen.append(NewItem(prediction_id, chosen, now, verdict.label, verdict.score))
        head = HEAD.pack(MARK, len(given), verdict.label, verdict.score, verdict.version, now, probability, reason)
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
            for blocks in round_trips(list(self._waiting.values())):
                await self._write_blocks(blocks)

    async def _write_blocks(self, blocks: Sequence[Block]) -> None:
        await pack_inputs([block for block in blocks if block.inputs and not block.packed])
        answers = await self._store.write(blocks)
        for block, answer in zip(blocks, answers, strict=True):
            if not isinstance(answer, BaseException):
                if answer.dropped:
                    self._telemetry.tenants.of(block.tenant).reviewed("dropped", answer.dropped)
                del self._waiting[block.name]
                self.waiting_bytes -= block.size + block.inputs_size
                self.room.touched.add(keys_of(block.tenant).kept)
                self._choice.note(block, answer.demand)
        self._written.set()
        failed = [answer for answer in answers if isinstance(answer, BaseException)]
        if failed:
            raise StoreUnavailable(f"some predictions could not be kept yet: {failed[0]}")
