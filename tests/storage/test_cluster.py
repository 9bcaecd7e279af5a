"""A cluster with a failed node or with moving slots: the other nodes continue to work."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from redis.crc import key_slot

from app.storage.client import Connection
from app.storage.client import cluster as cluster_module
from app.storage.client.cluster import ClusterClient
from app.storage.errors import StoreUnavailable
from app.storage.memory import read_memory
from app.storage.predictions import Block, PredictionStore
from app.storage.redis_keys import SHARDS, kept_of, keys_of
from app.storage.snapshots import SnapshotStore
from tests.servers import DURABLE, ClusterOfThree, Server, cluster, free_cluster_port, valkey_binary, wait_until
from tests.storage.connections import connected

pytestmark = pytest.mark.anyio

PARTLY = ("--cluster-require-full-coverage", "no")  # otherwise one failed node stops the others


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterOfThree]:
    with cluster(tmp_path_factory.mktemp("cluster"), *PARTLY) as nodes:
        yield nodes


@contextmanager
def killed(node: int, nodes: ClusterOfThree) -> Iterator[None]:
    """Kill one node for the length of a block."""
    nodes.nodes[node].kill()
    try:
        yield
    finally:
        nodes.nodes[node].start()
        nodes.wait_until_ok()


def keys_on(node: int, count: int = 1) -> list[str]:
    """Return keys in the slots of a node."""
    first, last = ClusterOfThree.RANGES[node]
    return [key for key in (f"key:{k}" for k in range(1000)) if first <= key_slot(key.encode()) <= last][:count]


def first_primary(connection: Connection, nodes: ClusterOfThree) -> int:
    """Return the node to which redis-py sends commands without a key."""
    assert isinstance(connection.redis, ClusterClient)
    port = connection.redis.get_default_node().port
    return [node.port for node in nodes.nodes].index(int(port))


async def test_while_the_first_primary_is_down_the_others_are_reached(three: ClusterOfThree) -> None:
    async with connected(three.url) as connection:
        await connection.ping()
        dead = first_primary(connection, three)
        (lost,), (kept,) = keys_on(dead), keys_on((dead + 1) % 3)
        await connection.ask("SET", kept, "here")
        with killed(dead, three):
            with pytest.raises(StoreUnavailable):
                await connection.ask_all([("GET", lost), ("GET", kept)])
            assert [await connection.ask("GET", kept) for _ in range(3)] == [b"here"] * 3


@pytest.mark.parametrize("dead", range(2))
async def test_a_new_client_reaches_the_others_while_a_primary_is_down(dead: int, three: ClusterOfThree) -> None:
    (kept,) = keys_on((dead + 1) % 3)
    with killed(dead, three):
        for _ in range(3):  # redis-py starts with any node
            async with connected(three.url) as connection:
                assert await connection.ask("SET", kept, "here")


async def test_each_node_answers_or_fails_alone(three: ClusterOfThree) -> None:
    commands = [("EXISTS", key) for node in range(3) for key in keys_on(node, 2)]
    async with connected(three.url) as connection:
        answers = await connection.ask_nodes(commands)
        with killed(1, three):
            for _ in range(3):  # with a connection that breaks, and without one
                *first, lost, lost_too, last, very_last = await connection.ask_nodes(commands)
                assert [*first, last, very_last] == answers[:2] + answers[4:]
                assert isinstance(lost, StoreUnavailable)
                assert isinstance(lost_too, StoreUnavailable)
        assert await connection.ask_nodes(commands) == answers


async def test_commands_in_progress_are_answered_while_slots_move(three: ClusterOfThree) -> None:
    (_, waited_for), moved = keys_on(1, 2), keys_on(0, 14)[2:]  # keys that no other test uses
    async with connected(three.url) as connection:
        await connection.ping()
        waiting = asyncio.create_task(connection.ask("BLPOP", waited_for, 2))
        for key in moved:
            move(key_slot(key.encode()), three)
            assert await connection.ask("GET", key) is None
        await connection.ask("RPUSH", waited_for, "answer")
        assert await waiting == (waited_for.encode(), b"answer")


async def test_commands_of_one_batch_follow_moved_slots(
    three: ClusterOfThree,
) -> None:
    moved, stayed = keys_on(0, 34)[20:], keys_on(1, 14)[2:]
    async with connected(three.url) as connection:
        for key in moved:
            await connection.ask("DEL", key)  # now the client has its slot in the table
            move(key_slot(key.encode()), three)
        answers = await connection.ask_all([("INCR", key) for key in (*moved, *stayed)])
        assert answers == [1] * (len(moved) + len(stayed))
        assert await connection.ask_all([("GET", key) for key in moved]) == [b"1"] * len(moved)


async def test_the_last_redirect_may_succeed(three: ClusterOfThree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "MOST_REDIRECTS", 1)
    *_, key = keys_on(0, 44)
    async with connected(three.url) as connection:
        await connection.ask("DEL", key)
        move(key_slot(key.encode()), three)
        assert await connection.ask("INCR", key) == 1


async def test_redirects_in_a_circle_are_an_error(three: ClusterOfThree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "MOST_REDIRECTS", 0)
    *_, key = keys_on(0, 46)
    async with connected(three.url) as connection:
        await connection.ask("DEL", key)
        move(key_slot(key.encode()), three)
        with pytest.raises(StoreUnavailable, match="nodes disagree about which of them has this tenant"):
            await connection.ask("INCR", key)


async def test_a_command_waits_until_all_its_keys_have_moved(three: ClusterOfThree) -> None:
    (tag,) = keys_on(0, 40)[39:]
    first, second = f"{{{tag}}}:first", f"{{{tag}}}:second"
    source, target = three.nodes[0], three.nodes[2]
    async with connected(three.url) as connection:
        assert await connection.ask_all([("SET", key, "x") for key in (first, second)]) == [b"OK", b"OK"]
        slot = key_slot(tag.encode())
        target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", source.ask("CLUSTER", "MYID"))
        source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", target.ask("CLUSTER", "MYID"))
        source.ask("MIGRATE", "127.0.0.1", target.port, first, 0, 5000)
        waiting = asyncio.create_task(connection.ask("EXISTS", first, second))
        await asyncio.sleep(0.2)
        assert not waiting.done()
        source.ask("MIGRATE", "127.0.0.1", target.port, second, 0, 5000)
        assert await waiting == 2
        move(slot, three)
        assert await connection.ask("EXISTS", first, second) == 2


async def test_keys_that_stay_on_two_nodes_are_an_error(three: ClusterOfThree) -> None:
    (tag,) = keys_on(0, 42)[41:]
    first, second = f"{{{tag}}}:first", f"{{{tag}}}:second"
    source, target, slot = three.nodes[0], three.nodes[2], key_slot(tag.encode())
    async with connected(three.url) as connection:
        await connection.ask_all([("SET", key, "x") for key in (first, second)])
        target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", source.ask("CLUSTER", "MYID"))
        source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", target.ask("CLUSTER", "MYID"))
        source.ask("MIGRATE", "127.0.0.1", target.port, first, 0, 5000)
        with pytest.raises(StoreUnavailable, match="is moving this tenant between nodes"):
            await connection.ask("EXISTS", first, second)
        source.ask("MIGRATE", "127.0.0.1", target.port, second, 0, 5000)
        move(slot, three)


async def test_script_calls_take_one_round_trip_per_node(three: ClusterOfThree) -> None:
    async with connected(three.url) as connection:
        await connection.ping()
        for node in three.nodes:
            node.ask("SCRIPT", "FLUSH")
        blocks = [Block(f"tenant-{k}", "0123456789ab-1", [b"head", b"given"], 1, 9) for k in range(60)]
        kept = PredictionStore(connection, ttl_seconds=60, at_most=100)
        assert not [answer for answer in await kept.write(blocks) if isinstance(answer, BaseException)]
        before = [reads(node) for node in three.nodes]
        blocks = [Block(block.tenant, "0123456789ab-2", block.pieces, block.count, block.size) for block in blocks]
        assert not [answer for answer in await kept.write(blocks) if isinstance(answer, BaseException)]
        assert all(reads(node) - earlier < 10 for node, earlier in zip(three.nodes, before, strict=True))
        assert await kept.read("tenant-7", "0123456789ab-2", 4, 5) == b"given"
        assert sum(await kept.kept_bytes([kept_of(shard) for shard in SHARDS])) == 2 * 9 * len(blocks)  # type: ignore[arg-type]
        await kept.free(await kept.bytes_by_tenant(), 9, target_bytes=9)
        assert await kept.bytes_by_tenant() == {block.tenant: 9 for block in blocks}
        assert len(await read_memory(connection)) == 3
        for block in blocks:
            await connection.ask("XADD", keys_of(block.tenant).log, "0-1", "p", b"x" * 1000)
            assert await SnapshotStore(connection).events_within(block.tenant, 100, 10) == 0


def reads(node: Server) -> int:
    """Return how often a node has read from a connection."""
    return int(node.ask("INFO", "stats")["total_reads_processed"])


def move(slot: int, nodes: ClusterOfThree) -> None:
    """Move an empty slot to the last node: its epoch is the highest, so the others accept it at once."""
    name = nodes.nodes[2].ask("CLUSTER", "MYID")
    for node in reversed(nodes.nodes):
        node.ask("CLUSTER", "SETSLOT", slot, "NODE", name)


@pytest.mark.e2e
async def test_a_slot_is_followed_to_a_node_that_has_none_yet(three: ClusterOfThree, tmp_path: Path) -> None:
    *_, key = keys_on(0, 20)
    slot, source = key_slot(key.encode()), three.nodes[0]
    with fourth(tmp_path / "fourth", three) as target:
        async with connected(three.url) as connection:
            await connection.ping()
            target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", source.ask("CLUSTER", "MYID"))
            source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", target.ask("CLUSTER", "MYID"))
            assert await connection.ask("SET", key, "there")
            assert await connection.ask_all([("GET", key)]) == [b"there"]
        assert target.ask("CLUSTER", "COUNTKEYSINSLOT", slot) == 1


@contextmanager
def fourth(folder: Path, nodes: ClusterOfThree) -> Iterator[Server]:
    """Start one more node, without slots. It refuses everything in its first two seconds."""
    options = (*DURABLE, *PARTLY, "--cluster-enabled", "yes", "--cluster-node-timeout", "1000")
    with Server(valkey_binary(), folder, *options, port=free_cluster_port()) as server:
        server.start()
        nodes.nodes[0].ask("CLUSTER", "MEET", "127.0.0.1", server.port)
        wait_until(lambda: b"cluster_state:ok" in bytes(server.ask("CLUSTER", "INFO")), "the node does not join")
        known = f":{server.port}@".encode()
        wait_until(
            lambda: all(known in bytes(node.ask("CLUSTER", "NODES")) for node in nodes.nodes),
            "it is unknown",
        )
        yield server
