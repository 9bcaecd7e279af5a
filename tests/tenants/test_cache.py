"""Tenants in memory: loading, eviction, garbage collection; and the operations of the registry."""

import asyncio
import contextvars
import gc
import weakref
from collections import deque
from pathlib import Path

import pytest

from app.learning.errors import BadSetting, BadSnapshot
from app.learning.example import example_of
from app.learning.first_settings import REVIEW, settings_of_new_tenants
from app.learning.parts.names import Names
from app.storage.event_codec import ConfigRecord, FeedbackRecord
from app.storage.redis_keys import keys_of
from app.tenants.errors import TenantExists, TenantUnknown, TooManyTenants, UpdateVetoed
from app.tenants.rules import Rules
from app.tenants.tenant import Feedback, FeedbackResult
from tests.servers import Server
from tests.tenants.workers import digest, feedback, give, stored_records, until, worker

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]


@pytest.fixture(autouse=True)
def _empty(store: Server) -> None:
    store.flush_all()


async def test_concurrent_first_requests_create_one_tenant(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        found = await asyncio.gather(*(tenants.hold("acme") for _ in range(50)))
        assert len({id(tenant) for tenant in found}) == 1
        assert [each.tenant for each in await tenants.listed("", 10)] == ["acme"]


async def test_concurrent_first_requests_load_it_once(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, "acme", feedback(1))
    async with worker(store.url, tmp_path) as tenants:
        found = await asyncio.gather(*(tenants.hold("acme") for _ in range(50)))
        assert len({id(tenant) for tenant in found}) == 1


async def test_the_least_recently_used_tenant_is_evicted_first(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path, memory_budget_bytes=120_000) as tenants:
        for number in range(6):
            await give(tenants, f"t{number}", *(feedback(k) for k in range(20)))
            tenants.held("t0")
        held = [each.tenant for each in await tenants.listed("", 10) if each.loaded]
        assert "t0" in held
        assert "t5" in held
        assert len(held) < 6
        before = await digest(tenants, "t0")
        assert await digest(tenants, "t1") == before, "reloaded unchanged"


async def test_a_new_tenant_gets_the_first_settings(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await tenants.hold("older")
    async with worker(store.url, tmp_path, first_settings={"bias": True}) as tenants:
        found = await asyncio.gather(*(tenants.hold("newer") for _ in range(20)))
        assert (found[0].state.version, found[0].state.config.values["bias"]) == (1, True)
        assert (await tenants.configure("newest", {})).state.version == 1
        assert (await tenants.configure("other", {"bias": False})).state.config.values["bias"] is False
        older = await tenants.hold("older")
        assert (older.state.version, older.state.config.values["bias"]) == (0, False)


async def test_first_settings_are_the_first_event_whichever_worker_is_first(store: Server, tmp_path: Path) -> None:
    first = {"first_settings": {"bias": True}}
    async with worker(store.url, tmp_path, **first) as one, worker(store.url, tmp_path, **first) as other:
        for number in range(30):
            await asyncio.gather(
                *(give(tenants, f"t{number}", feedback(k)) for k in range(4) for tenants in (one, other))
            )
        logs = [await stored_records(store.url, f"t{number}") for number in range(30)]
    assert {tuple(type(record) for record in log) for log in logs} == {(ConfigRecord, *[FeedbackRecord] * 8)}


async def test_a_new_tenant_has_the_settings_for_new_tenants_and_the_newest_featurizer() -> None:
    new = {"algorithm": "cs-sol", "numbers": "encoded", "threshold": "auto", **REVIEW}
    assert Rules().first_settings == new, "without a featurizer, as long as there is one version"
    assert settings_of_new_tenants(newest=2) == {**new, "featurizer": 2}
    assert settings_of_new_tenants("cs-ssol") == {"numbers": "encoded", "threshold": "auto", **REVIEW}


async def test_unknown_tenants_are_not_created_without_auto_create(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path, auto_create=False) as tenants:
        with pytest.raises(TenantUnknown):
            await tenants.hold("acme")
        await tenants.configure("acme", {"eta": 0.5})
        assert (await tenants.hold("acme")).state.config.values["eta"] == 0.5


async def test_reading_a_tenant_does_not_create_it(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        with pytest.raises(TenantUnknown):
            await tenants.hold("acme", create=False)
        assert await tenants.listed("", 10) == []


async def test_the_number_of_tenants_is_limited(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path, max_tenants=2) as tenants:
        await tenants.hold("a")
        await tenants.hold("b")
        with pytest.raises(TooManyTenants):
            await tenants.hold("c")
        await give(tenants, "a", feedback(1))


async def test_a_change_of_settings_is_an_event_and_no_change_is_none(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as a, worker(store.url, tmp_path) as b:
        await give(a, "acme", feedback(1))
        assert (await a.configure("acme", {"eta": 0.5, "bias": True})).state.version == 2
        assert (await a.configure("acme", {"eta": 0.5})).state.version == 2
        assert await digest(b, "acme") == await digest(a, "acme")
        with pytest.raises(BadSetting):
            await a.configure("acme", {"eta": -1.0})
        with pytest.raises(BadSetting):
            await a.configure("new", {"nonsense": 1.0})
        assert [each.tenant for each in await a.listed("", 10)] == ["acme"]


async def test_two_imports_that_replace_a_tenant_at_once_both_succeed(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as a, worker(store.url, tmp_path) as b:
        await give(a, "acme", *(feedback(number) for number in range(5)))
        model = b"".join([piece async for piece in await a.export("acme")])
        await asyncio.gather(*(each.imported("acme", model, replace=True) for each in (a, b)))
        assert (await give(a, "acme", feedback(7)))[0].outcome.version == 6


async def test_an_export_can_be_imported_elsewhere(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, "acme", *(feedback(number) for number in range(50)))
        model = b"".join([piece async for piece in await tenants.export("acme")])
        before = await digest(tenants, "acme")
        score = (await tenants.hold("acme")).predict(feedback(99).example).score
    store.flush_all()
    async with worker(store.url, tmp_path) as tenants:
        tenant = await tenants.imported("copy", model, replace=False)
        assert await digest(tenants, "copy") == before
        assert tenant.predict(feedback(99).example).score == score
        assert (await give(tenants, "copy", feedback(7)))[0].outcome.version == before[0] + 1
        with pytest.raises(TenantExists):
            await tenants.imported("copy", model, replace=False)
        with pytest.raises(BadSnapshot):
            await tenants.imported("bad", model[:-1], replace=False)
        with pytest.raises(TenantUnknown):
            await tenants.hold("bad", create=False)


async def test_a_label_that_would_move_too_many_weights_is_refused_with_the_reason(
    store: Server, tmp_path: Path
) -> None:
    async with worker(store.url, tmp_path, max_weights_moved=2) as tenants:
        tenant = await tenants.hold("acme")
        narrow, wide = (Feedback(1, example_of(dict.fromkeys(names, 1.0))) for names in ("ab", "abc"))
        given, refused = await tenant.give([narrow, wide])
        assert isinstance(given, FeedbackResult)
        assert isinstance(refused, UpdateVetoed)
        assert "would move 3 weights at once; at most 2 may be (SLUICE_MAX_WEIGHTS_MOVED)" in str(refused)
        assert tenant.state.version == 1


async def test_the_garbage_collector_does_not_track_tenants(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, "acme", *(feedback(number) for number in range(30)))
        await tenants.snapshot("acme")
    async with worker(store.url, tmp_path) as tenants:
        tenant = await tenants.hold("acme")
        state = tenant.state
        parts = [tenant, tenant.lock, state, state.config, state.model, state.model.memory, state.prequential]
        parts += [state.names, *(each for each in gc.get_referents(state.names) if each is not Names)]
        assert [part for part in parts if gc.is_tracked(part)] == []


async def test_many_tenants_add_no_work_for_the_garbage_collector(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:

        async def prepare(number: int) -> None:
            await give(tenants, f"t{number}", feedback(number))
            await tenants.snapshot(f"t{number}")

        await asyncio.gather(*(prepare(number) for number in range(250)))
    keys_of.cache_clear()
    async with worker(store.url, tmp_path) as tenants:
        for number in range(100):  # these are named in metrics, each with counters of its own
            await tenants.hold(f"t{number}")
        await tenants.follower.compare_once()
        before = tracked()
        for number in range(100, 250):
            await tenants.hold(f"t{number}")
        await tenants.follower.compare_once()
        objects, references = tracked()
        assert objects - before[0] < 75
        assert references - before[1] < 75


async def test_the_garbage_collector_does_not_track_dicts_of_all_tenants(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await asyncio.gather(*(give(tenants, f"t{number}", feedback(number)) for number in range(150)))
        tenant = await tenants.hold("t7")
        referring = gc.get_referrers(tenant, tenant.counter)  # those that the collector tracks
        named = 100  # at most, for metrics
        assert not [each for each in referring if isinstance(each, dict) and "t7" in each and len(each) > named]


def tracked() -> tuple[int, int]:
    """Return how many objects the collector tracks, and how many references their containers have.

    Without timers of the loop, which come and go, and caches of the program, which a service freezes.
    """
    gc.collect()
    left_out = asyncio.TimerHandle, contextvars.Context, type(keys_of)
    objects = [each for each in gc.get_objects() if not isinstance(each, left_out)]
    # Of containers only: they can grow, and Python 3.12.1 crashes where some other objects are asked.
    containers = [each for each in objects if isinstance(each, dict | list | tuple | set | frozenset | deque)]
    return len(objects), sum(len(gc.get_referents(each)) for each in containers)


async def test_a_dropped_tenant_is_freed_without_the_garbage_collector(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, "acme", *(feedback(number) for number in range(5)))
        await tenants.snapshot("acme")
        await give(tenants, "acme", *(feedback(number) for number in range(5, 10)))
        await tenants.follower.compare_once()
        left = weakref.ref((await tenants.hold("acme")).state)
        gc.disable()
        try:
            await tenants.delete("acme")
            await until(lambda: left() is None)
        finally:
            gc.enable()
