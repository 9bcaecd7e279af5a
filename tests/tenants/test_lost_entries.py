"""Logs that lack what a worker remembers of tenants that it has evicted since."""

import asyncio
from pathlib import Path

import pytest

from app.learning.snapshot.model_file import load
from app.storage.event_log import Entry
from app.storage.metadata import Position
from app.tenants.cache import ENTRY_OVERHEAD_BYTES, RecentEntries
from app.tenants.transfer.imports import Imports
from tests.servers import Server
from tests.tenants.workers import digest, drop_snapshots, feedback, give, lose, replayed, worker

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

SMALL = 1  # byte: of all tenants, only the last one stays in memory


@pytest.fixture(autouse=True)
def _empty(store: Server) -> None:
    store.flush_all()


async def test_a_log_gets_back_what_an_evicted_tenant_lost_before_it_is_served(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path, memory_budget_bytes=SMALL) as tenants:
        await give(tenants, "acme", *(feedback(number) for number in range(10)))
        await give(tenants, "acme", *(feedback(number, f"id-{number}") for number in range(10, 20)))
        before = await digest(tenants, "acme")
        await tenants.hold("other")
        assert tenants.held("acme") is None
        lose(store, "acme", 15)
        tenant = await tenants.hold("acme")
        assert (tenant.state.version, tenant.state.digest) == before == await replayed(store.url, "acme")
        (again,) = await give(tenants, "acme", feedback(19, "id-19"))
        assert again.duplicate
        assert "had lost 15 events" in tenants.ready().parts["log"].detail


async def test_evicted_tenants_that_nobody_asks_for_are_compared_too(store: Server, tmp_path: Path) -> None:
    names = [f"tenant-{k}" for k in range(8)]
    async with worker(store.url, tmp_path, memory_budget_bytes=SMALL) as a, worker(store.url, tmp_path) as b:
        for name in names:
            await give(a, name, *(feedback(number) for number in range(6)))
        await give(a, "other", feedback(1))
        for name in names:
            lose(store, name, 3)
        for name in names[:2]:  # another worker continues behind the loss, to the same version and beyond
            await give(b, name, *(feedback(number) for number in range(50, 53 + 2 * names.index(name))))
        for _ in range(2):
            await a.follower.compare_once()
        versions = [(await replayed(store.url, name))[0] for name in names]
        assert versions == [9, 11] + [6] * 6
        await a.follower.compare_once()
        assert [(await replayed(store.url, name))[0] for name in names] == versions


async def test_two_workers_append_what_both_remember_once(store: Server, tmp_path: Path) -> None:
    small = {"memory_budget_bytes": SMALL}
    async with worker(store.url, tmp_path, **small) as a, worker(store.url, tmp_path, **small) as b:
        await b.hold("acme")
        await give(a, "acme", *(feedback(number) for number in range(20)))
        assert await digest(b, "acme") == await digest(a, "acme")
        await a.hold("other")
        await b.hold("other")
        lose(store, "acme", 8)
        await asyncio.gather(*(each.follower.compare_once() for each in (a, b, a, b)))
        assert (await replayed(store.url, "acme"))[0] == 20


async def test_a_label_that_the_client_has_sent_again_is_not_doubled(store: Server, tmp_path: Path) -> None:
    """The client's retry comes first, through a worker that does not know of the label."""
    async with worker(store.url, tmp_path, memory_budget_bytes=SMALL) as a, worker(store.url, tmp_path) as b:
        await give(a, "acme", *(feedback(number, f"id-{number}") for number in range(10)))
        await a.hold("other")
        lose(store, "acme", 4)
        await give(b, "acme", feedback(8, "id-8"))
        await a.follower.compare_once()
        assert (await replayed(store.url, "acme"))[0] == 10
        for number in range(6, 10):
            (again,) = await give(a, "acme", feedback(number, f"id-{number}"))
            assert again.duplicate


@pytest.mark.parametrize("rules", [{}, {"memory_budget_bytes": SMALL}], ids=["in memory", "evicted"])
async def test_labels_are_put_back_by_a_worker_that_does_not_know_what_was_before_them(
    store: Server, tmp_path: Path, rules: dict[str, int]
) -> None:
    """It has loaded a snapshot that the store loses as well, so it does not know where its labels belong."""
    async with worker(store.url, tmp_path) as earlier:
        await give(earlier, "acme", *(feedback(number, f"id-{number}") for number in range(20)))
        await earlier.snapshot("acme")
    async with worker(store.url, tmp_path, **rules) as a, worker(store.url, tmp_path, **rules) as b:
        await give(a, "acme", feedback(20, "id-20"), feedback(21, "id-21"))
        await b.hold("acme")
        for each in (a, b):
            await each.hold("other")
        drop_snapshots(store, "acme")
        lose(store, "acme", 5)  # 18 to 22
        async with worker(store.url, tmp_path) as stranger:
            await give(stranger, "acme", feedback(21, "id-21"), *(feedback(number) for number in range(30, 37)))
            await asyncio.gather(*(each.follower.compare_once() for each in (a, b, a, b)))
            version, state = await replayed(store.url, "acme")
            assert version == 17 + 8 + 1
            for each in (a, b, stranger):
                assert await digest(each, "acme") == (version, state)
            for number in (20, 21):
                (again,) = await give(stranger, "acme", feedback(number, f"id-{number}"))
                assert again.duplicate


async def test_an_evicted_tenant_is_put_back_into_an_emptied_store(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path, memory_budget_bytes=SMALL) as tenants:
        await give(tenants, "acme", *(feedback(number, f"id-{number}") for number in range(20)))
        before = await digest(tenants, "acme")
        await tenants.hold("other")
        store.flush_all()
        await tenants.follower.compare_once()
        assert await replayed(store.url, "acme") == before
        (again,) = await give(tenants, "acme", feedback(3, "id-3"))
        assert again.duplicate


async def test_an_evicted_tenant_is_put_back_before_a_request_creates_it_again(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path, memory_budget_bytes=SMALL) as tenants:
        await give(tenants, "acme", *(feedback(number) for number in range(20)))
        await tenants.hold("other")
        store.flush_all()
        (given,) = await give(tenants, "acme", feedback(21))
        assert given.outcome.version == 21


@pytest.mark.parametrize("rules", [{}, {"memory_budget_bytes": SMALL}], ids=["in memory", "evicted"])
async def test_a_tenant_that_another_worker_has_created_again_gets_the_lost_labels(
    store: Server, tmp_path: Path, rules: dict[str, int]
) -> None:
    """The store has lost a tenant, and a worker that never knew it gets the next label."""
    async with worker(store.url, tmp_path, **rules) as a, worker(store.url, tmp_path, **rules) as b:
        await give(a, "acme", *(feedback(number) for number in range(5)), feedback(5, "id-5"))
        await b.hold("acme")
        await digest(b, "acme")
        for each in (a, b):
            await each.hold("other")
        store.flush_all()
        async with worker(store.url, tmp_path) as stranger:
            await give(stranger, "acme", feedback(5, "id-5"), feedback(6))
            await asyncio.gather(*(each.follower.compare_once() for each in (a, b, a, b)))
            assert (await replayed(store.url, "acme"))[0] == 7
            assert await digest(a, "acme") == await digest(b, "acme") == await replayed(store.url, "acme")
            assert await digest(stranger, "acme") == await digest(a, "acme")
        assert rescued(tmp_path) == []


async def test_an_imported_model_is_not_mixed_with_labels_of_the_lost_tenant(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as a, worker(store.url, tmp_path) as b:
        await give(b, "other", *(feedback(number) for number in range(30)))
        model = b"".join([piece async for piece in await b.export("other")])
        await give(a, "acme", *(feedback(number) for number in range(5)))
        before = await digest(a, "acme")
        store.flush_all()
        await b.imported("acme", model, replace=False)
        assert (await digest(a, "acme")) == await digest(b, "acme")
        assert (await digest(b, "acme"))[0] == 30
        (model,) = rescued(tmp_path)
        assert load(model).digest == before[1]


async def test_an_import_that_a_failover_loses_at_once_is_made_again(
    store: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, losses = Imports.write, iter([store.flush_all])

    async def write_and_lose(imports: Imports, name: str, data: bytes, *, replace: bool) -> None:
        await write(imports, name, data, replace=replace)
        for lose_all in losses:
            lose_all()

    monkeypatch.setattr(Imports, "write", write_and_lose)
    async with worker(store.url, tmp_path) as a, worker(store.url, tmp_path) as b:
        await give(a, "other", *(feedback(number) for number in range(30)))
        model = b"".join([piece async for piece in await a.export("other")])
        tenant = await a.imported("copy", model, replace=False)
        assert tenant.state.digest == load(model).digest == (await b.hold("copy", create=False)).state.digest


async def test_what_cannot_be_put_back_is_reported_once(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as earlier:
        await give(earlier, "acme", *(feedback(number) for number in range(20)))
        await earlier.snapshot("acme")
    async with worker(store.url, tmp_path, memory_budget_bytes=SMALL) as tenants:
        await give(tenants, "acme", *(feedback(number) for number in range(20, 25)))
        await tenants.hold("other")
        store.flush_all()
        for _ in range(3):
            await tenants.follower.compare_once()
        detail = tenants.ready().parts["log"].detail
        assert detail.count("has lost events of tenant acme") == 1
        assert "versions 21 to 25" in detail


def test_loads_do_not_replace_what_was_acknowledged() -> None:
    recent = RecentEntries(bytes_kept=20 * (ENTRY_OVERHEAD_BYTES + 1))
    applied = [Entry(version, b"a", f"chain-{version}") for version in range(1, 11)]
    for entry in applied:
        recent.remember("acme", "first", entry)
    for tenant in range(10):
        recent.remember_read(f"tenant-{tenant}", "other", [Entry(k, b"b", f"{tenant}-{k}") for k in range(1, 9)])
    assert recent.logs["acme"].first == 1
    assert recent.end_of("acme") == Position("first", 10, "chain-10")
    for entry in [Entry(version, b"c", f"c-{version}") for version in range(1, 16)]:
        recent.remember("later", "third", entry)
    assert set(recent.logs) == {"acme", "later"}
    assert recent.logs["acme"].first == 6  # the oldest entries are dropped first


def rescued(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in folder.iterdir()]
