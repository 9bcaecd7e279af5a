"""Step 5: a primary of the cluster is killed, and labels that its replica has not heard of with it."""

import asyncio
import re
import time
from dataclasses import dataclass

from redis.crc import key_slot
from redis.exceptions import RedisClusterException, RedisError

from app.storage.redis_keys import TENANTS
from load_tests.cluster.connections import each
from load_tests.cluster.figures import Latency, latency
from load_tests.cluster.ledger import Checked
from load_tests.cluster.nodes import NODE_TIMEOUT_MILLISECONDS, until_promoted
from load_tests.cluster.slots import slot_of
from load_tests.cluster.stage import Stage
from load_tests.cluster.traffic import Askers, Moderators
from tests.servers import Server

PATIENCE_SECONDS = 30.0
UNHEARD_SECONDS = 0.3  # for which the replica hears nothing before its primary dies
PUT_BACK = re.compile(r"had lost (\d+) events; they were appended again")


@dataclass(frozen=True, slots=True)
class Labels:
    """Of some tenants, from the kill until everything was well again."""

    tenants: int
    acknowledged: int
    refused: int  # attempts
    mistakes: int  # of them, answered with 500
    worst_seconds: float  # from the first attempt at a label to its acknowledgement


@dataclass(frozen=True, slots=True)
class FailedOver:
    """What clients saw of it."""

    node_timeout_seconds: float
    promoted_seconds: float
    accepted_seconds: float  # from the kill to the first label of its tenants that was acknowledged
    its_own: Labels
    others: Labels
    predictions: int
    predictions_refused: int
    prediction: Latency | None
    not_ready: int  # services whose /readyz said 503 while the primary was away
    services: int
    put_back: int  # events that the replica did not have, and services appended again
    rescued: int  # models that had to be put into a file
    put_back_seconds: float  # from the promotion until no acknowledged label of its tenants was missing
    checked: Checked


@dataclass(frozen=True, slots=True)
class _Traffic:
    """That goes on all the while."""

    its_own: Moderators
    others: Moderators
    askers: Askers


@dataclass(frozen=True, slots=True)
class _Times:
    """When what happened."""

    killed: float
    promoted: float
    whole: float


async def fail_over(stage: Stage) -> FailedOver:
    """Kill the primary that also has the list of tenants: it hurts most."""
    primary = stage.cluster.owner(key_slot(TENANTS.encode()))
    member = next(member for member in stage.cluster.members() if member.port == primary.port)
    mine = [tenant for tenant in stage.tenants if member.has(slot_of(tenant))]
    rest = [tenant for tenant in stage.tenants if not member.has(slot_of(tenant))]
    await each(stage.tenants, stage.predict)  # all are in memory
    noted = _put_back(stage)
    traffic = _Traffic(Moderators(stage, mine, "own"), Moderators(stage, rest, "rest"), Askers(stage, stage.tenants))
    async with traffic.askers, traffic.others, traffic.its_own:
        times, not_ready = await _failed_over(stage, primary, mine)
        await traffic.its_own.wait_for(20)
        await traffic.askers.once_around()
        await traffic.others.wait_for(20)
    await asyncio.to_thread(_rejoin, stage, primary)
    since = [answer for answer in traffic.askers.answers if answer.at >= times.killed]
    return FailedOver(
        node_timeout_seconds=NODE_TIMEOUT_MILLISECONDS / 1000,
        promoted_seconds=times.promoted - times.killed,
        accepted_seconds=_first_accepted(traffic.its_own, times.killed) - times.killed,
        its_own=_labels(traffic.its_own, len(mine), times.killed),
        others=_labels(traffic.others, len(rest), times.killed),
        predictions=len(since),
        predictions_refused=sum(answer.status != 200 for answer in since),
        prediction=latency(answer.seconds for answer in since),
        not_ready=not_ready,
        services=len(stage.router.up),
        put_back=_put_back(stage) - noted,
        rescued=stage.rescued(),
        put_back_seconds=times.whole - times.promoted,
        checked=await stage.checked(),
    )


async def _failed_over(stage: Stage, primary: Server, tenants: list[str]) -> tuple[_Times, int]:
    """Under traffic; with the number of services that said that they are not ready."""
    replica = stage.cluster.replica_of(primary)
    await asyncio.sleep(stage.sizes.traffic_seconds)
    killed = await _kill(primary, replica)
    promotion = asyncio.to_thread(until_promoted, replica, PATIENCE_SECONDS)
    promoted, not_ready = await asyncio.gather(promotion, _not_ready(stage))
    return _Times(killed, promoted, await _until_nothing_is_missing(stage, tenants)), not_ready


async def _kill(primary: Server, replica: Server) -> float:
    """Cut the replica off, let some labels be acknowledged that it does not hear of, and kill the primary."""
    replica.freeze()
    try:
        primary.ask("CLIENT", "KILL", "TYPE", "replica")
        await asyncio.sleep(UNHEARD_SECONDS)
        killed_at = time.perf_counter()
        primary.kill()
    finally:
        replica.thaw()
    return killed_at


async def _not_ready(stage: Stage) -> int:
    """How many services say so at some time within the node timeout, in which nothing can be promoted yet."""
    found: set[str] = set()
    deadline = time.perf_counter() + NODE_TIMEOUT_MILLISECONDS / 1000
    while time.perf_counter() < deadline:
        asked = await each(stage.router.up, lambda name: stage.connections[name].ask("GET", "/readyz"))
        found |= {name for name, answer in asked.items() if answer.status == 503}
        await asyncio.sleep(0.2)
    return len(found)


async def _until_nothing_is_missing(stage: Stage, tenants: list[str]) -> float:
    """When the logs were found to have all labels of these tenants that had been acknowledged, or patience ended."""
    deadline = time.perf_counter() + PATIENCE_SECONDS
    while await _is_something_missing(stage, tenants) and time.perf_counter() < deadline:  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(0.05)
    return time.perf_counter()


async def _is_something_missing(stage: Stage, tenants: list[str]) -> bool:
    try:
        return (await stage.checked(tenants)).lost > 0
    except (RedisError, RedisClusterException, OSError):  # not every node has heard of the new primary yet
        return True


def _rejoin(stage: Stage, dead: Server) -> None:
    """The dead node comes back, as a replica of the one that has taken its place."""
    dead.start()
    stage.cluster.wait_until_ok()


def _first_accepted(moderators: Moderators, killed_at: float) -> float:
    return min(
        answer.at + answer.seconds for answer in moderators.answers if answer.status == 200 and answer.at > killed_at
    )


def _labels(moderators: Moderators, tenants: int, killed_at: float) -> Labels:
    """Those that were under way at the kill count, too."""
    since = [seconds for begin, seconds in moderators.acknowledged if begin + seconds >= killed_at]
    return Labels(tenants, len(since), moderators.refused, moderators.mistakes, max(since))


def _put_back(stage: Stage) -> int:
    """Events that services say to have appended again."""
    return sum(int(found) for name in stage.services for found in PUT_BACK.findall(stage.log_of(name)))
