"""Repair of tenants whose store has lost or changed events."""

import asyncio
from pathlib import Path

import pytest

from app.learning.snapshot.model_file import load
from app.storage.redis_keys import keys_of
from app.tenants.errors import LogReplaced, TenantUnknown
from tests.servers import Server
from tests.tenants.workers import digest, feedback, give, lose, replayed, until, worker

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]


@pytest.fixture(autouse=True)
def _empty(store: Server) -> None:
    store.flush_all()


async def test_an_emptied_store_gets_its_tenants_back(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as a, worker(store.url, tmp_path) as b:
        await give(a, "acme", *(feedback(number) for number in range(40)))
        before = await digest(b, "acme")
        store.flush_all()
        await a.follower.compare_once()
        await b.follower.compare_once()
        assert await digest(a, "acme") == await digest(b, "acme") == before
        await give(b, "acme", feedback(41))
        assert await digest(a, "acme") == await digest(b, "acme")
        assert "was put back" in a.ready().parts["log"].detail + b.ready().parts["log"].detail
    async with worker(store.url, tmp_path) as fresh:
        assert (await digest(fresh, "acme"))[0] == 41


async def test_events_that_a_worker_has_only_read_are_put_back(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as earlier:
        await give(earlier, "acme", *(feedback(number) for number in range(20)))
    async with worker(store.url, tmp_path) as late:
        before = await digest(late, "acme")
        store.flush_all()
        await late.follower.compare_once()
        assert await replayed(store.url, "acme") == before


async def test_feedback_for_an_emptied_store_is_learnt(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, "acme", *(feedback(number) for number in range(10)))
        store.flush_all()
        (given,) = await give(tenants, "acme", feedback(11))
        assert given.outcome.version == 11


async def test_events_that_a_failover_lost_are_appended_again(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as a, worker(store.url, tmp_path) as b:
        await give(a, "acme", *(feedback(number, f"id-{number}") for number in range(40)))
        before = await digest(b, "acme")
        lose(store, "acme", 7)
        await b.follower.compare_once()
        assert await digest(a, "acme") == await digest(b, "acme") == before == await replayed(store.url, "acme")
        (again,) = await give(a, "acme", feedback(39, "id-39"))
        assert again.duplicate


async def test_feedback_on_a_log_that_fell_behind_comes_after_the_lost_events(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, "acme", *(feedback(number) for number in range(20)))
        lose(store, "acme", 5)
        (given,) = await give(tenants, "acme", feedback(21))
        assert given.outcome.version == 21
        assert await digest(tenants, "acme") == await replayed(store.url, "acme")


async def test_known_events_are_appended_again_after_events_of_others(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as a, worker(store.url, tmp_path) as b:
        await b.hold("acme")
        await give(a, "acme", *(feedback(number) for number in range(10)))
        await give(a, "acme", *(feedback(number, f"id-{number}") for number in range(10, 20)))
        assert (await digest(b, "acme"))[0] == 20
        lose(store, "acme", 15)
        async with worker(store.url, tmp_path) as other:
            await give(other, "acme", *(feedback(number) for number in range(100, 130)))
        await asyncio.gather(a.follower.compare_once(), b.follower.compare_once())
        assert await digest(a, "acme") == await digest(b, "acme") == await replayed(store.url, "acme")
        assert (await digest(a, "acme"))[0] == 5 + 30 + 15
        (again,) = await give(b, "acme", feedback(19, "id-19"))
        assert again.duplicate
        assert is_empty(tmp_path)


async def test_feedback_that_an_emptied_store_lost_is_not_acknowledged(store: Server, tmp_path: Path) -> None:
    """Another worker may put back its state and continue: then the same version is another event."""
    async with worker(store.url, tmp_path) as a, worker(store.url, tmp_path) as b:
        await give(a, "acme", *(feedback(number) for number in range(10)))
        assert (await digest(b, "acme"))[0] == 10
        ours, theirs = await a.hold("acme"), await b.hold("acme")
        async with ours.lock:
            following = asyncio.create_task(a.follower.catch_up(ours, 11))
            async with theirs.lock:
                giving = asyncio.create_task(give(a, "acme", feedback(11, "lost")))
                await until(lambda: store.ask("HGET", keys_of("acme").meta, "version") == b"11")
                store.flush_all()
            await give(b, "acme", feedback(12, "theirs"), feedback(13))
        await following
        with pytest.raises(LogReplaced):
            await giving
        (again,) = await give(a, "acme", feedback(11, "lost"))
        assert not again.duplicate
        assert await digest(a, "acme") == await digest(b, "acme")
        assert (await digest(a, "acme"))[0] == 13


async def test_a_retry_after_the_store_was_emptied_is_still_a_retry(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as a, worker(store.url, tmp_path) as b:
        await b.hold("acme")
        given = await give(a, "acme", *(feedback(number, f"id-{number}") for number in range(20)))
        assert await digest(a, "acme") == await digest(b, "acme")
        store.flush_all()
        await asyncio.gather(a.follower.compare_once(), b.follower.compare_once())
        for tenants in (a, b):
            (again,) = await give(tenants, "acme", feedback(7, "id-7"))
            assert again.duplicate
            assert again.outcome == given[7].outcome


@pytest.mark.parametrize("others", [0, 30])
async def test_another_history_wins_and_ours_is_saved_to_a_file(store: Server, tmp_path: Path, others: int) -> None:
    async with worker(store.url, tmp_path) as earlier:
        await give(earlier, "acme", *(feedback(number) for number in range(20)))
        await earlier.snapshot("acme")
    async with worker(store.url, tmp_path) as ours:  # it does not know the events before the snapshot
        before = await digest(ours, "acme")
        lose(store, "acme", 15)
        store.ask("DEL", keys_of("acme").headers)
        async with worker(store.url, tmp_path) as theirs:
            await give(theirs, "acme", *(feedback(number) for number in range(100, 100 + others)))
            await ours.follower.compare_once()
            assert await digest(ours, "acme") == await digest(theirs, "acme") == await replayed(store.url, "acme")
        model = rescued(tmp_path, "acme-20-*.sluice")
        assert load(model).digest == before[1]
        tenant = await ours.imported("acme", model, replace=True)
        assert (tenant.state.version, tenant.state.digest) == before


async def test_a_deleted_tenant_is_dropped_by_all_workers_and_not_put_back(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path, auto_create=False) as a, worker(store.url, tmp_path) as b:
        await give(b, "acme", feedback(1))
        await a.hold("acme")
        await b.delete("acme")
        await a.follower.compare_once()
        assert a.held("acme") is None
        with pytest.raises(TenantUnknown):
            await a.hold("acme")
        assert is_empty(tmp_path)


async def test_a_tenant_that_was_deleted_and_created_again_is_the_new_one(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as a, worker(store.url, tmp_path) as b:
        await give(a, "acme", *(feedback(number) for number in range(5)))
        await b.hold("acme")
        await a.delete("acme")
        await give(a, "acme", feedback(9))
        await b.follower.compare_once()
        assert await digest(b, "acme") == await digest(a, "acme")
        assert (await digest(b, "acme"))[0] == 1
        assert is_empty(tmp_path)


async def test_an_import_replaces_the_tenant_on_all_workers(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as a, worker(store.url, tmp_path) as b:
        await give(a, "other", *(feedback(number) for number in range(30)))
        model = b"".join([piece async for piece in await a.export("other")])
        await give(a, "acme", feedback(1))
        await b.hold("acme")
        await a.imported("acme", model, replace=True)
        await b.follower.compare_once()
        assert await digest(b, "acme") == await digest(a, "acme") == await digest(a, "other")
        await give(b, "acme", feedback(2))
        assert await digest(b, "acme") == await digest(a, "acme")


def rescued(folder: Path, pattern: str) -> bytes:
    (path,) = folder.glob(pattern)
    return path.read_bytes()


def is_empty(folder: Path) -> bool:
    return not list(folder.iterdir())
