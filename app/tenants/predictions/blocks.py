"""Kept predictions as they are stored and counted, and how their blocks are written together."""

import asyncio
import math
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from app.learning.review import Chosen
from app.storage.predictions import Block

# Mark, size of the input, label, score, version, time, the probability with which the review policy chose the
# prediction (0 if it did not), and its reason; the input follows.
HEAD = struct.Struct("<HIbdQQdB")
MARK = 0x51C0
EARLIER_HEAD, EARLIER_MARK = struct.Struct("<HIbdQQ"), 0x51BF  # of versions without a review policy
ROUND_TRIP_BYTES = 2 << 20  # with more, a worker that is busy with requests might exceed the timeout
PACKED_INLINE_BYTES = 16 << 10  # raw inputs beyond these are compressed in a thread


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


class StoreStatus(Protocol):
    """Whether the store is available, as the log follower knows it."""

    trouble: str | None
    away: dict[str, str]  # change feeds on cluster nodes that do not answer


@dataclass(slots=True)
class Room:
    """What this worker may keep until the budget is checked again, and the shards that it has written to."""

    bytes: float = math.inf
    touched: set[str] = field(default_factory=set)


class Demand(msgspec.Struct, gc=False):
    """How many reviews the policy of a tenant wants in an hour: of all workers, and of this one since then."""

    known: float = 0.0
    unwritten: float = 0.0


async def pack_inputs(blocks: Sequence[Block]) -> None:
    """Compress raw inputs: in a thread, unless they are small."""

    def pack() -> None:
        for block in blocks:
            block.pack_inputs()

    if sum(block.inputs_size for block in blocks) > PACKED_INLINE_BYTES:
        await asyncio.to_thread(pack)
    else:
        pack()


def round_trips(blocks: Sequence[Block]) -> Iterator[Sequence[Block]]:
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
