"""Step 7: a node more for the cluster. Slots move to it while labels come, in either of two ways."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from load_tests.cluster.ledger import Checked
from load_tests.cluster.moving import move_at_once, move_key_by_key
from load_tests.cluster.nodes import PRIMARIES
from load_tests.cluster.slots import SLOT_OF_SHARD, slot_of
from load_tests.cluster.stage import Stage
from load_tests.cluster.traffic import Moderators
from tests.servers import Server

SHARDS_OF_NEW_NODE = len(SLOT_OF_SHARD) // (PRIMARIES + 1)

Slots = dict[Server, list[int]]


@dataclass(frozen=True, slots=True)
class Moved:
    """Slots that have changed hands under traffic."""

    way: str
    slots: int
    tenants: int
    seconds: float
    labels: int  # acknowledged meanwhile, of tenants on the move
    refused: int  # attempts
    mistakes: int  # of them, answered with 500
    worst_seconds: float  # until one of them was acknowledged


@dataclass(frozen=True, slots=True)
class Resharded:
    """The new node, and what it cost to fill it."""

    moves: list[Moved]
    new_node_shards: int
    checked: Checked


async def reshard(stage: Stage) -> Resharded:
    """Let a node join, and give it its share of the 256 shards: half in one way, half in the other."""
    node = await asyncio.to_thread(_joined, stage)
    taken = _taken(stage)
    key_by_key = {source: slots[::2] for source, slots in taken.items()}
    at_once = {source: slots[1::2] for source, slots in taken.items()}
    moves = [
        await _moved(stage, "key by key", key_by_key, lambda source, slots: _one_by_one(stage, source, node, slots)),
        await _moved(stage, "all at once", at_once, lambda source, slots: move_at_once(source, node, slots)),
    ]
    member = next(member for member in stage.cluster.members() if member.port == node.port)
    return Resharded(moves, sum(member.has(slot) for slot in SLOT_OF_SHARD.values()), await stage.checked())


async def _moved(stage: Stage, way: str, slots: Slots, move: Callable[[Server, list[int]], None]) -> Moved:
    moving = {slot for some in slots.values() for slot in some}
    tenants = [tenant for tenant in stage.tenants if slot_of(tenant) in moving]
    async with Moderators(stage, tenants, "move", clients=8) as moderators:
        await asyncio.sleep(stage.sizes.traffic_seconds)
        begin = time.perf_counter()
        for source, some in slots.items():
            await asyncio.to_thread(move, source, some)
        seconds = time.perf_counter() - begin
        await moderators.wait_for(len(tenants))
    since = [taken for sent, taken in moderators.acknowledged if sent + taken >= begin]
    return Moved(
        way, len(moving), len(tenants), seconds, len(since), moderators.refused, moderators.mistakes, max(since)
    )


def _joined(stage: Stage) -> Server:
    node = stage.cluster.add(f"primary {PRIMARIES + 1}")
    stage.cluster.meet(node)
    return node


def _taken(stage: Stage) -> Slots:
    """The slots that every primary gives away: only those that Sluice uses matter."""
    members = {member.port: member for member in stage.cluster.members()}
    found = {}
    for source in stage.cluster.primaries():
        owned = [slot for slot in SLOT_OF_SHARD.values() if members[source.port].has(slot)]
        found[source] = owned[: round(SHARDS_OF_NEW_NODE / PRIMARIES)]
    return found


def _one_by_one(stage: Stage, source: Server, target: Server, slots: list[int]) -> None:
    move_key_by_key(stage.cluster, source, target, slots)
