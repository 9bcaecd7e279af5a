"""Tenants that were deleted or replaced stay so when a failover brings them back."""

from pathlib import Path

import pytest

from app.tenants.cache import EndedIncarnations
from app.tenants.errors import TenantUnknown
from tests.servers import Server
from tests.tenants.workers import copy_of, digest, fail_over_to, feedback, give, replayed, until, worker

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

SMALL = 1  # byte: of all tenants, only the last one stays in memory


@pytest.fixture(autouse=True)
def _empty(store: Server) -> None:
    store.flush_all()


async def test_a_deleted_tenant_is_not_served_again(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path, auto_create=False) as tenants:
        await tenants.configure("acme", {})
        await give(tenants, "acme", *(feedback(number) for number in range(5)))
        copy = copy_of(store)
        await tenants.delete("acme")
        fail_over_to(store, copy)
        with pytest.raises(TenantUnknown):
            await tenants.hold("acme")
        assert await tenants.listed("", 10) == []
        assert "it was deleted again" in tenants.ready().parts["log"].detail


async def test_a_deleted_tenant_that_nobody_asks_for_is_deleted_again(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        names = [f"tenant-{k}" for k in range(5)]
        for name in [*names, "kept"]:
            await give(tenants, name, *(feedback(number) for number in range(3)))
        copy = copy_of(store)
        for name in names:
            await tenants.delete(name)
        fail_over_to(store, copy)
        await tenants.follower.compare_once()
        assert [each.tenant for each in await tenants.listed("", 10)] == ["kept"]
        assert (await digest(tenants, "kept"))[0] == 3


async def test_another_worker_that_saw_the_deletion_deletes_it_again(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as witness:
        async with worker(store.url, tmp_path) as tenants:
            await until(lambda: witness.ready().ready)
            await give(tenants, "acme", feedback(1))
            copy = copy_of(store)
            await tenants.delete("acme")
            await give(tenants, "acme", feedback(2))  # and created again, so quickly that both are read together
            await tenants.delete("acme")
            ended = witness.follower._repair.ended  # noqa: SLF001
            await until(lambda: "acme" in ended.names)
        fail_over_to(store, copy)
        await witness.follower.compare_once()
        assert await witness.listed("", 10) == []


@pytest.mark.parametrize("rules", [{}, {"memory_budget_bytes": SMALL}], ids=["in memory", "evicted"])
async def test_a_tenant_that_was_created_again_replaces_the_deleted_one(
    store: Server, tmp_path: Path, rules: dict[str, int]
) -> None:
    async with worker(store.url, tmp_path, **rules) as tenants:
        await give(tenants, "acme", *(feedback(number) for number in range(5)))
        copy = copy_of(store)
        await tenants.delete("acme")
        await give(tenants, "acme", *(feedback(number) for number in range(10, 17)))
        before = await digest(tenants, "acme")
        await tenants.hold("other")
        fail_over_to(store, copy)
        await tenants.follower.compare_once()
        assert await replayed(store.url, "acme") == await digest(tenants, "acme") == before
        assert "acme" in [each.tenant for each in await tenants.listed("", 10)]
        assert is_empty(tmp_path)


@pytest.mark.parametrize("again", [True, False], ids=["before the failover", "after it"])
async def test_labels_of_a_deleted_tenant_do_not_come_back_in_the_next_one(
    store: Server, tmp_path: Path, *, again: bool
) -> None:
    """The store has lost the tenant with its deletion, and another worker did not hear of the deletion."""
    async with worker(store.url, tmp_path) as a, worker(store.url, tmp_path) as b:
        copy = copy_of(store)
        await b.hold("acme")
        await give(a, "acme", *(feedback(number) for number in range(5)))
        assert (await digest(b, "acme"))[0] == 5
        deleted = b.held("acme")
        await a.delete("acme")
        if again:
            await give(a, "acme", feedback(10))
        fail_over_to(store, copy)
        repair = b.follower._repair  # noqa: SLF001
        repair.ended = EndedIncarnations()
        await (a.follower.compare_once() if again else give(a, "acme", feedback(10)))
        await repair.repair(deleted)  # type: ignore[arg-type]
        assert (await replayed(store.url, "acme"))[0] == 1


async def test_an_imported_model_replaces_the_tenant_before_it(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as a, worker(store.url, tmp_path) as b:
        await give(a, "acme", *(feedback(number) for number in range(5)))
        await give(a, "other", *(feedback(number) for number in range(30)))
        model = b"".join([piece async for piece in await a.export("other")])
        await b.hold("acme")
        copy = copy_of(store)
        await a.imported("acme", model, replace=True)
        (given,) = await give(a, "acme", feedback(31))
        await until(lambda: b.held("acme") is None or b.held("acme").state.version == 31)  # type: ignore[union-attr]
        fail_over_to(store, copy)
        (since,) = await give(a, "acme", feedback(32))
        assert (given.outcome.version, since.outcome.version) == (31, 32)
        assert await digest(b, "acme") == await digest(a, "acme")
        assert is_empty(tmp_path)


def test_only_the_newest_incarnations_are_remembered() -> None:
    ended = EndedIncarnations(at_most=3)
    names = [f"{k:032x}" for k in range(5)]
    ended.note("acme", " ".join(names[:2]) + " 0123")  # the oldest one is cut off
    assert list(ended.names) == ["acme", "acme"]
    for name in names[2:]:
        ended.add("other", name)
    assert [name in ended for name in names] == [False, False, True, True, True]


def is_empty(folder: Path) -> bool:
    return not list(folder.iterdir())
