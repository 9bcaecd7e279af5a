"""Steps of the store: a primary is killed, with labels that its replica lacks; and slots move to a new node."""

import asyncio
import time
from collections.abc import Sequence
from itertools import chain

from redis.crc import key_slot
from redis.exceptions import RedisClusterException, RedisError, ResponseError

from app.storage.redis_keys import TENANTS
from load_tests.cluster.figures import LABELS, Figure, Step, latency
from load_tests.cluster.logs import appended_again
from load_tests.cluster.nodes import (
    NODE_TIMEOUT_MILLISECONDS,
    PRIMARIES,
    SLOT_OF_SHARD,
    Cluster,
    members,
    my_id,
    port_of,
    slot_of,
)
from load_tests.cluster.services import Deployment, each
from load_tests.cluster.traffic import ERROR, Moderators, Readers
from load_tests.harness.report import table
from tests.servers import Server, wait_until

PATIENCE_SECONDS = 30.0
UNREPLICATED_SECONDS = 0.3  # for which the replica is cut off before its primary dies
APPENDED = "events that the replica lacked, and services appended again"
SHARDS_OF_NEW_NODE = len(SLOT_OF_SHARD) // (PRIMARIES + 1)
KEYS_AT_ONCE = 100
MIGRATE_MILLISECONDS = 5000
MIGRATION_SECONDS = 60.0
OVER = {b"success", b"failed", b"cancelled"}


async def fail_over(deployment: Deployment) -> Step:
    """Kill the primary that also has the list of tenants, shortly after its replica was cut off."""
    cluster, tenants = deployment.cluster, deployment.tenants
    slot = key_slot(TENANTS.encode())
    member, primary = next(found for found in cluster.primaries().items() if found[0].has(slot))
    replica = cluster.nodes[port_of(primary.ask("CLUSTER", "REPLICAS", my_id(primary))[0].decode().split()[1])]
    mine = [tenant for tenant in tenants if member.has(slot_of(tenant))]
    rest = [tenant for tenant in tenants if not member.has(slot_of(tenant))]
    await each(tenants, deployment.predict)  # all are in memory
    before = appended_again(deployment.folder.glob("service-*/service.log"))
    own, others = Moderators(deployment, mine), Moderators(deployment, rest)
    async with Readers(deployment, tenants).running() as readers, others.running(), own.running():
        await asyncio.sleep(deployment.sizes.traffic_seconds)
        killed = await _kill(primary, replica)
        promoted, not_ready = await asyncio.gather(asyncio.to_thread(_promoted, replica), _not_ready(deployment))
        complete = await _complete(deployment, mine)
        await own.wait_for(20)
        await readers.wait_for(len(tenants))
        await others.wait_for(20)
    await asyncio.to_thread(primary.start)  # as a replica of its successor
    await asyncio.to_thread(cluster.wait_until_ok)
    appended = appended_again(deployment.folder.glob("service-*/service.log")) - before
    rescued = len(list(deployment.folder.glob("service-*/rescued/*")))
    since = [answer for answer in readers.answers if answer.begin >= killed]
    accepted = min(answer.end for answer in own.answers if answer.status == 200 and answer.begin > killed)
    header = ("labels of tenants", "tenants", "acknowledged", "attempts refused", "longest wait, s")
    rows = (
        (name, f"{len(some):,}", *moderators.cells(killed))
        for name, some, moderators in (("on the dead node", mine, own), ("on other nodes", rest, others))
    )
    return Step(
        Figure("from the kill to the promotion of the replica", promoted - killed, "{:.1f} s"),
        Figure("from the kill to the first label of its tenants", accepted - killed, "{:.1f} s"),
        Figure("predictions meanwhile, for all tenants", len(since)),
        Figure("predictions refused", sum(answer.status != 200 for answer in since), most=0),
        Figure("predictions meanwhile", latency(answer.seconds for answer in since)),
        Figure("labels of tenants on other nodes refused", len(others.answers) - others.answered(200), most=0),
        Figure("answers of 500 to labels", own.answered(ERROR) + others.answered(ERROR), most=0),
        Figure("services that answered 503 at /readyz meanwhile", not_ready),
        Figure(APPENDED, appended),
        Figure("from the promotion until its tenants had all their labels", complete - promoted, "{:.1f} s"),
        Figure("models set aside in a file", rescued, most=0),
        Figure(LABELS, await deployment.checked()),
        tables=[table(header, rows)],
    )


async def _kill(primary: Server, replica: Server) -> float:
    """Kill the primary after it has acknowledged labels that its replica does not get."""
    replica.freeze()
    try:
        primary.ask("CLIENT", "KILL", "TYPE", "replica")
        await asyncio.sleep(UNREPLICATED_SECONDS)
        killed_at = time.perf_counter()
        primary.kill()
    finally:
        replica.thaw()
    return killed_at


def _promoted(replica: Server) -> float:
    wait_until(lambda: replica.ask("ROLE")[0] == b"master", "the replica was not promoted")
    return time.perf_counter()


async def _not_ready(deployment: Deployment) -> int:
    """How many services say so at some time within the node timeout, in which nothing can be promoted yet."""
    found: set[str] = set()
    deadline = time.perf_counter() + NODE_TIMEOUT_MILLISECONDS / 1000
    while time.perf_counter() < deadline:
        answers = await each(deployment.router.up, lambda name: deployment.router.send_to(name, "GET", "/readyz"))
        found |= {name for name, answer in answers.items() if answer.status == 503}
        await asyncio.sleep(0.2)
    return len(found)


async def _complete(deployment: Deployment, tenants: list[str]) -> float:
    """When the logs had all acknowledged labels of these tenants, or patience ended."""
    deadline = time.perf_counter() + PATIENCE_SECONDS
    while time.perf_counter() < deadline:
        try:
            if not (await deployment.checked(tenants)).lost:
                break
        except (RedisError, RedisClusterException, OSError):  # not every node knows the new primary yet
            pass
        await asyncio.sleep(0.05)
    return time.perf_counter()


async def reshard(deployment: Deployment) -> Step:
    """Let a node join, and move its share of the 256 shards to it under traffic: half in one way, half in the other."""
    cluster, rows, errors = deployment.cluster, [], 0
    node = await asyncio.to_thread(cluster.add, "added")
    await asyncio.to_thread(cluster.join, node)
    await asyncio.to_thread(cluster.wait_until_ok)  # a new node refuses everything for two seconds
    sources = cluster.primaries()
    for number, (way, move) in enumerate({"key by key": move_key_by_key, "all at once": move_at_once}.items()):
        slots = {}
        for member, source in sources.items():
            owned = list(filter(member.has, SLOT_OF_SHARD.values()))
            slots[source] = owned[: round(SHARDS_OF_NEW_NODE / PRIMARIES)][number::2]
        moving = set(chain.from_iterable(slots.values()))
        tenants = [tenant for tenant in deployment.tenants if slot_of(tenant) in moving]
        async with Moderators(deployment, tenants, clients=8).running() as moderators:
            await asyncio.sleep(deployment.sizes.traffic_seconds)
            begin = time.perf_counter()
            for source, some in slots.items():
                await asyncio.to_thread(move, cluster, source, node, some)
            seconds = time.perf_counter() - begin
            await moderators.wait_for(len(tenants))
        errors += moderators.answered(ERROR)
        rows.append((way, len(moving), f"{len(tenants):,}", f"{seconds:.1f}", *moderators.cells(begin)))
    member = next(member for member in members(node) if member.port == node.port)
    header = ("way", "slots", "tenants in them", "seconds", "labels meanwhile", "attempts refused", "longest wait, s")
    return Step(
        Figure("shards of the new node, of 256", sum(map(member.has, SLOT_OF_SHARD.values()))),
        Figure("answers of 500 to labels", errors, most=0),
        Figure(LABELS, await deployment.checked()),
        tables=[table(header, rows)],
    )


def move_at_once(_cluster: Cluster, source: Server, target: Server, slots: Sequence[int]) -> None:
    """CLUSTER MIGRATESLOTS (Valkey 9): the slots change hands in one moment, with everything in them."""
    ranges = chain.from_iterable((slot, slot) for slot in slots)
    source.ask("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", *ranges, "NODE", my_id(target))
    deadline, state = time.monotonic() + MIGRATION_SECONDS, b""
    while state not in OVER and time.monotonic() < deadline:
        time.sleep(0.02)
        newest = source.ask("CLUSTER", "GETSLOTMIGRATIONS")[0]
        state = bytes(dict(zip(newest[::2], newest[1::2], strict=True))[b"state"])
    if state != b"success":
        raise RuntimeError(f"the slots were not moved: {state.decode()}")


def move_key_by_key(cluster: Cluster, source: Server, target: Server, slots: Sequence[int]) -> None:
    """CLUSTER SETSLOT and MIGRATE (every version): slot after slot, and in each key after key."""
    for slot in slots:
        target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", my_id(source))
        source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", my_id(target))
        move = ("MIGRATE", "127.0.0.1", target.port, "", 0, MIGRATE_MILLISECONDS)
        while keys := source.ask("CLUSTER", "GETKEYSINSLOT", slot, KEYS_AT_ONCE):
            try:
                source.ask(*move, "KEYS", *keys)
            except ResponseError as error:
                # A review queue may have begun anew on the target: its scripts do not declare all of its keys.
                queue = [key for key in keys if b":review:" in key]
                if "BUSYKEY" not in str(error) or not queue:
                    raise
                source.ask(*move, "REPLACE", "KEYS", *queue)
        others = [node for node in cluster.primaries().values() if node not in {source, target}]
        for node in (target, source, *others):
            node.ask("CLUSTER", "SETSLOT", slot, "NODE", my_id(target))
