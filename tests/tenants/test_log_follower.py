"""Comparison of tenants with their logs, and a cluster of which a node is down."""

import asyncio
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from redis.crc import key_slot

from app.storage.errors import StoreUnavailable
from app.storage.redis_keys import keys_of
from app.tenants import log_follower
from app.tenants.registry import Tenants
from tests.servers import ClusterOfThree, Server, cluster
from tests.tenants.workers import digest, feedback, give, replayed, until, worker

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

NAMES = [f"tenant-{k}" for k in range(12)]


@pytest.fixture
def three(tmp_path: Path) -> Iterator[ClusterOfThree]:
    with cluster(tmp_path / "cluster", "--cluster-require-full-coverage", "no") as nodes:
        yield nodes


def is_on_the_first(name: str) -> bool:
    first, last = ClusterOfThree.RANGES[0]
    return first <= key_slot(keys_of(name).meta.encode()) <= last


def are_at(tenants: Tenants, names: list[str], version: int) -> bool:
    held = [tenants.held(name) for name in names]
    return all(tenant is not None and tenant.state.version == version for tenant in held)


@pytest.mark.e2e
async def test_while_a_node_is_down_the_others_are_followed_and_the_worker_is_ready(
    three: ClusterOfThree, tmp_path: Path
) -> None:
    lost, there = [[name for name in NAMES if is_on_the_first(name) == on] for on in (True, False)]
    assert lost
    assert there
    async with worker(three.url, tmp_path) as a, worker(three.url, tmp_path) as b:
        for name in NAMES:
            await give(a, name, feedback(1))
            await b.hold(name)
        await until(lambda: a.ready().ready and b.ready().ready)
        three.nodes[0].kill()
        for number in range(2, 8):
            for name in there:
                await give(a, name, feedback(number))
            await until(partial(are_at, b, there, number))
            assert b.ready().ready
        assert "shards are away" in b.ready().parts["redis"].detail
        assert {name for name in NAMES if keys_of(name).changes in b.follower.away} == set(lost)
        for name in lost:
            with pytest.raises(StoreUnavailable):
                await give(a, name, feedback(2))
        three.nodes[0].start()
        three.wait_until_ok()
        for name in lost:
            await give(a, name, feedback(2))
        await until(partial(are_at, b, lost, 2))
        for name in NAMES:
            assert await digest(a, name) == await digest(b, name) == await replayed(three.url, name)


@pytest.mark.e2e
async def test_a_worker_without_any_node_is_not_ready_until_they_are_back(
    three: ClusterOfThree, tmp_path: Path
) -> None:
    async with worker(three.url, tmp_path) as a:
        await give(a, "acme", feedback(1))
        await until(lambda: a.ready().ready)
        for node in three.nodes:
            node.kill()
        await until(lambda: not a.ready().ready)
        for _ in range(30):  # and stays so
            await asyncio.sleep(0.05)
            assert not a.ready().ready
        for node in three.nodes:
            node.start()
        three.wait_until_ok()
        await until(lambda: a.ready().ready)
        await give(a, "acme", feedback(2))
        assert await digest(a, "acme") == await replayed(three.url, "acme")


@pytest.mark.e2e
async def test_a_worker_that_starts_while_a_node_is_down_serves_the_others(
    three: ClusterOfThree, tmp_path: Path
) -> None:
    lost, there = [next(name for name in NAMES if is_on_the_first(name) == on) for on in (True, False)]
    async with worker(three.url, tmp_path) as a:
        for name in (lost, there):
            await give(a, name, feedback(1))
        three.nodes[0].kill()
        async with worker(three.url, tmp_path) as b:
            await until(lambda: b.ready().ready)
            await b.hold(there)
            await give(a, there, feedback(2))
            await until(partial(are_at, b, [there], 2))
            three.nodes[0].start()
            three.wait_until_ok()
            await b.hold(lost)
            await give(a, lost, feedback(2))
            await until(partial(are_at, b, [lost], 2))
            for name in (lost, there):
                assert await digest(b, name) == await replayed(three.url, name)


@pytest.fixture
def _three_at_once(store: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    store.flush_all()
    monkeypatch.setattr(log_follower, "COMPARED_AT_ONCE", 3)


@pytest.mark.usefixtures("_three_at_once")
async def test_a_pass_compares_every_tenant_once(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        for name in NAMES[:9]:
            await give(tenants, name, feedback(1))
        names = log_follower.Pass(tenants.cache.tenants)
        seen = []
        for _ in range(3):
            seen += names.next()
            tenants.held(NAMES[0])
            tenants.held(NAMES[8])
        assert sorted(seen) == NAMES[:9]


@pytest.mark.usefixtures("_three_at_once")
async def test_a_pass_skips_tenants_that_were_deleted_since_it_began(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        for name in NAMES[:9]:
            await give(tenants, name, feedback(1))
        await tenants.follower.compare_once()
        await tenants.delete(NAMES[4])
        for _ in range(3):
            await tenants.follower.compare_once()
        assert tenants.held(NAMES[4]) is None
        assert tenants.ready().parts["log"].detail == "in order"
