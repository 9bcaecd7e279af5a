"""A deleted tenant can be restored for some time: the same state, the same log, as a new incarnation."""

import asyncio
from pathlib import Path

import pytest

from app.storage.event_codec import FeedbackRecord
from app.storage.redis_keys import keys_of
from app.tenants.errors import NothingDeleted, TenantExists, TenantUnknown, TooManyTenants
from tests.servers import Server
from tests.tenants.labels.helpers import MANY, NAME, SHORT, check, retract
from tests.tenants.workers import (
    copy_of,
    digest,
    fail_over_to,
    feedback,
    give,
    replayed,
    stored_entries,
    stored_records,
    until,
    worker,
)

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]


@pytest.fixture(autouse=True)
def _empty(store: Server) -> None:
    store.flush_all()


async def test_a_restored_tenant_is_as_it_was(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path, snapshots=MANY) as one, worker(store.url, tmp_path, snapshots=MANY) as other:
        for number in range(40):
            await give(one, NAME, feedback(number, f"id-{number}"))
            if number % 10 == 5:
                await one.snapshot(NAME)
        await other.hold(NAME)
        before, records = await digest(one, NAME), await stored_records(store.url, NAME)
        await one.delete(NAME)
        with pytest.raises(TenantUnknown):
            await one.hold(NAME, create=False)
        (listed,) = await other.deleted(NAME)
        assert listed.version == 40
        assert listed.until_milliseconds - listed.at_milliseconds == 7 * 24 * 3600 * 1000
        restored = await other.restore(NAME)
        assert (restored.state.version, restored.state.digest) == before
        assert await stored_records(store.url, NAME) == records
        assert await one.deleted(NAME) == []
        (again,) = await give(one, NAME, feedback(7, "id-7"))
        assert (again.duplicate, again.outcome.version) == (True, 8)
        await give(one, NAME, feedback(100, "new"))
        assert await digest(one, NAME) == await digest(other, NAME) == await replayed(store.url, NAME)
        await retract(one, "id-3")
        await check(store, one, other)
    async with worker(store.url, tmp_path) as restarted:
        await check(store, restarted)


async def test_a_tenant_whose_log_is_trimmed(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path, snapshots=SHORT) as tenants:
        await give(tenants, NAME, *(feedback(number) for number in range(20)))
        await tenants.snapshot(NAME)
        for more in (0, 3):
            await give(tenants, NAME, *(feedback(number) for number in range(more)))
            before = await digest(tenants, NAME)
            await tenants.delete(NAME)
            await tenants.restore(NAME)
            assert await digest(tenants, NAME) == before
        await give(tenants, NAME, feedback(9))
        assert (await digest(tenants, NAME))[0] == 24


async def test_an_empty_tenant(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await tenants.hold(NAME)
        await tenants.delete(NAME)
        assert (await tenants.restore(NAME)).state.version == 0


async def test_a_name_that_is_used_again(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, NAME, feedback(1), feedback(2))
        first = await digest(tenants, NAME)
        await tenants.delete(NAME)
        await asyncio.sleep(0.002)  # the times differ
        await give(tenants, NAME, feedback(3))
        with pytest.raises(TenantExists, match="delete it first"):
            await tenants.restore(NAME)
        await tenants.delete(NAME)
        newest, oldest = await tenants.deleted(NAME)
        assert (newest.version, oldest.version) == (1, 2)
        with pytest.raises(NothingDeleted, match="with the id 'unknown'"):
            await tenants.restore(NAME, "unknown")
        await tenants.restore(NAME, oldest.incarnation)
        assert await digest(tenants, NAME) == first
        assert await tenants.deleted(NAME) == [newest]


async def test_a_purged_tenant_leaves_nothing(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path, snapshots=MANY) as tenants:
        for _ in range(2):
            await give(tenants, NAME, feedback(1))
            await tenants.snapshot(NAME)
            await tenants.delete(NAME)
        await give(tenants, NAME, feedback(1))
        await tenants.delete(NAME, purge=True)
        assert await tenants.deleted(NAME) == []
        left = {key for key in store.ask("KEYS", "*") if NAME.encode() in key}
        assert left == {keys_of(NAME).meta.encode()}  # which remembers that it was deleted
        with pytest.raises(NothingDeleted):
            await tenants.restore(NAME)
        with pytest.raises(TenantUnknown):
            await tenants.delete(NAME, purge=True)
        await give(tenants, NAME, feedback(1))
        await tenants.delete(NAME)
        await tenants.delete(NAME, purge=True)  # it exists no more, but could be restored
        assert await tenants.deleted(NAME) == []


async def test_without_time_nothing_is_kept_and_what_is_kept_expires(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path, deleted_tenant_seconds=0) as tenants:
        await give(tenants, NAME, feedback(1))
        await tenants.delete(NAME)
        assert await tenants.deleted(NAME) == []
    async with worker(store.url, tmp_path, deleted_tenant_seconds=1, snapshots=MANY) as tenants:
        await give(tenants, NAME, feedback(1))
        await tenants.snapshot(NAME)
        await tenants.delete(NAME)
        assert len(await tenants.deleted(NAME)) == 1
        await until(lambda: not [key for key in store.ask("KEYS", "*") if b":deleted" in key])
        assert await tenants.deleted(NAME) == []


async def test_restorations_at_once(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as one, worker(store.url, tmp_path) as other:
        await give(one, NAME, *(feedback(number) for number in range(30)))
        before = await digest(one, NAME)
        await one.delete(NAME)
        results = await asyncio.gather(*(each.restore(NAME) for each in (one, other, one)), return_exceptions=True)
        assert sum(not isinstance(each, BaseException) for each in results) == 1
        assert {type(each) for each in results if isinstance(each, BaseException)} <= {TenantExists, NothingDeleted}
        assert await digest(one, NAME) == before
        assert not [key for key in store.ask("KEYS", "*") if b":log:" in key and store.ask("PTTL", key) < 0]


async def test_the_limit_on_tenants_holds(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path, max_tenants=1) as tenants:
        await give(tenants, NAME, feedback(1))
        await tenants.delete(NAME)
        await give(tenants, "other", feedback(1))
        with pytest.raises(TooManyTenants):
            await tenants.restore(NAME)


async def test_a_restoration_survives_a_failover_to_a_replica_behind(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, NAME, *(feedback(number, f"id-{number}") for number in range(10)))
        await tenants.delete(NAME)
        copy = copy_of(store)
        await tenants.restore(NAME)
        await give(tenants, NAME, feedback(10, "id-10"))
        before = await digest(tenants, NAME)
        fail_over_to(store, copy)
        await tenants.follower.compare_once()
        assert await digest(tenants, NAME) == before
        records = [each for each in await stored_records(store.url, NAME) if isinstance(each, FeedbackRecord)]
        assert [each.feedback_id for each in records] == [f"id-{number}" for number in range(11)]
        assert len(await stored_entries(store.url, NAME)) == 11
