"""Connections to clusters, through Sentinel, and to servers that are killed, frozen, restarted and failed over."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.storage.client.server_check import check_server
from app.storage.errors import StoreUnavailable, StoreUnusable
from tests.servers import ClusterOfThree, SentinelSetup, cluster, sentinel, valkey_server
from tests.storage.connections import add, add_together, connected, eventually_add

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterOfThree]:
    with cluster(tmp_path_factory.mktemp("cluster")) as nodes:
        yield nodes


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SentinelSetup]:
    with sentinel(tmp_path_factory.mktemp("sentinel")) as setup:
        yield setup


async def test_a_cluster_is_reached(three: ClusterOfThree) -> None:
    async with connected(three.url) as connection:
        await connection.ping()
        assert connection.is_cluster
        assert [await add(connection, f"key:{k}") for k in range(8)] == [1] * 8
        assert len(await add_together(connection)) == 6
        assert await check_server(connection) == []


async def test_a_cluster_is_reached_through_one_node(three: ClusterOfThree) -> None:
    async with connected(f"redis+cluster://127.0.0.1:{three.nodes[2].port}") as connection:
        await connection.ping()


async def test_a_cluster_named_as_a_server_is_refused(three: ClusterOfThree) -> None:
    async with connected(three.nodes[0].url) as connection:
        with pytest.raises(StoreUnusable, match=r"runs in cluster mode; write redis\+cluster:// in SLUICE_REDIS_URL"):
            await connection.ping()


async def test_a_sentinel_named_as_a_server_is_refused(watched: SentinelSetup) -> None:
    async with connected(watched.sentinel.url) as connection:
        with pytest.raises(StoreUnusable, match=r"is a Sentinel; write redis\+sentinel://"):
            await connection.ping()


async def test_a_primary_that_sentinel_does_not_know_is_unavailable(watched: SentinelSetup) -> None:
    async with connected(watched.url.replace("/main", "/other")) as connection:
        with pytest.raises(StoreUnavailable, match=r"Redis at other of 127\.0\.0\.1:\d+ cannot be reached"):
            await connection.ping()


async def test_after_a_failover_the_next_calls_go_to_the_new_primary(watched: SentinelSetup) -> None:
    async with connected(watched.url) as connection:
        await connection.ping()
        assert await add(connection) == 1
        await asyncio.to_thread(watched.primary.ask, "WAIT", 1, 1000)
        watched.kill_primary()
        await asyncio.to_thread(watched.wait_for_failover)
        assert await eventually_add(connection) == 2


async def test_a_restarted_cluster_is_used_again_at_once(three: ClusterOfThree) -> None:
    three.flush_all()
    async with connected(three.url) as connection:
        await add_together(connection)
        await asyncio.to_thread(restart, three)
        assert await add_together(connection) == [2] * 6
        assert await add(connection, "count:0") == 3


async def test_a_cluster_that_is_gone_is_unavailable_and_comes_back(three: ClusterOfThree) -> None:
    three.flush_all()
    async with connected(three.url) as connection:
        await add_together(connection)
        for node in three.nodes:
            node.kill()
        for attempt in (add_together, add, add_together):
            with pytest.raises(StoreUnavailable):
                await attempt(connection)
        await asyncio.to_thread(restart, three)
        assert await eventually_add(connection) == 1
        assert await add_together(connection) == [2] * 6


def restart(nodes: ClusterOfThree) -> None:
    for node in nodes.nodes:
        node.kill()
    for node in nodes.nodes:
        node.start()
    nodes.wait_until_ok()


async def test_a_restarted_server_is_used_again_at_once(tmp_path: Path) -> None:
    with valkey_server(tmp_path) as server:
        async with connected(server.url) as connection:
            await asyncio.gather(*(add(connection) for _ in range(5)))  # five connections in the pool
            server.kill()
            await asyncio.to_thread(server.start)  # the event loop notices that the server has closed the connections
            assert [await add(connection) for _ in range(5)] == [6, 7, 8, 9, 10]


async def test_a_server_that_is_gone_is_unavailable(tmp_path: Path) -> None:
    with valkey_server(tmp_path) as server:
        async with connected(server.url) as connection:
            await add(connection)
            server.kill()
            with pytest.raises(StoreUnavailable, match=r"Redis at 127.0.0.1:.* cannot be reached"):
                await add(connection)
            with pytest.raises(StoreUnavailable, match=rf"Redis at 127\.0\.0\.1:{server.port} cannot be reached"):
                await connection.ping()


async def test_a_frozen_server_is_unavailable_in_time_and_nothing_is_sent_twice(tmp_path: Path) -> None:
    with valkey_server(tmp_path) as server:
        async with connected(server.url, timeout_seconds=0.3) as connection:
            await add(connection)
            server.freeze()
            async with asyncio.timeout(1.0):
                with pytest.raises(StoreUnavailable, match="did not answer in time"):
                    await add(connection)
            server.thaw()
            assert await add(connection) == 3  # the command that timed out has arrived, once
