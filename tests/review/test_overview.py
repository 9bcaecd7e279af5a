"""All tenants, the worst first, on a real store."""

from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path

import pytest

from app.learning.events import Served
from app.learning.example import example_of
from app.review.overview import Overview
from app.storage.client import connect
from app.storage.event_log import EventLog
from app.storage.review.queue import QueueLimits, ReviewQueueStore
from app.tenants.registry import Tenants
from app.tenants.tenant import Feedback
from tests.servers import Server
from tests.tenants.workers import give, worker

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]
ROOM = 1 << 40
Look = Callable[..., Overview]


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
async def tenants(store: Server, tmp_path: Path) -> AsyncIterator[Tenants]:
    store.flush_all()
    async with worker(store.url, tmp_path) as tenants:
        yield tenants


@pytest.fixture
async def look(store: Server, tenants: Tenants) -> AsyncIterator[Look]:
    connection = connect(store.url)

    def make(room_bytes: int = ROOM, clock: Callable[[], float] | None = None) -> Overview:
        return Overview(
            tenants.cache,
            tenants.loader.damaged,
            partial(tenants.hold, create=False),
            EventLog(connection, 60),
            ReviewQueueStore(connection, QueueLimits()),
            room_bytes=room_bytes,
            **({"now": clock} if clock else {}),
        )

    yield make
    await connection.aclose()


def everything(_: str) -> bool:
    return True


async def teach(tenants: Tenants, name: str, right: float, count: int = 160) -> None:
    """Give labels of which a share is what the features say; the others are the opposite."""
    items = []
    for k in range(count):
        truth = 1 if k % 2 else -1
        given = truth if (k // 2) % 20 < 20 * right else -truth
        items.append(Feedback(given, example_of({f"class:{truth}": 1.0}), served=Served(truth, 0.5), chosen_with=0.5))
    for first in range(0, count, 20):
        await give(tenants, name, *items[first : first + 20])


async def names(overview: Overview, search: str = "", offset: int = 0, limit: int = 50) -> list[str]:
    return [line.tenant for line in (await overview.page(everything, search, offset, limit)).lines]


async def test_poor_tenants_come_first_then_the_least_accurate_then_those_that_nobody_knows(
    tenants: Tenants, look: Look
) -> None:
    await teach(tenants, "b-good", 1.0)
    await teach(tenants, "a-fair", 0.8)
    await teach(tenants, "c-poor", 0.5)
    await tenants.configure("d-empty", {})
    page = await look().page(everything, "", 0, 50)
    assert [line.tenant for line in page.lines] == ["c-poor", "a-fair", "b-good", "d-empty"]
    assert [line.health for line in page.lines] == ["poor", "good", "good", "learning"]
    assert (page.total, page.loaded) == (4, 4)
    poor, fair, good, empty = page.lines
    assert good.labels == good.events_last_day == 160
    assert good.honest is not None
    assert good.honest.value == 1.0
    assert fair.honest is not None
    assert fair.honest.value is not None
    assert fair.honest.value == pytest.approx(0.8, abs=0.02)
    assert poor.queue is not None
    assert (empty.honest, empty.labels, empty.events_last_day) == (None, 0, 0)
    assert empty.recent is not None
    assert empty.recent.balanced_accuracy is None


async def test_tenants_are_searched_paged_and_kept_from_others(tenants: Tenants, look: Look) -> None:
    for k in range(12):
        await tenants.configure(f"shop-{k:02d}", {})
    await tenants.configure("mail", {})
    overview = look()
    assert await names(overview, "shop-0") == [f"shop-{k:02d}" for k in range(10)]
    assert await names(overview, "op-1", 1, 5) == ["shop-11"]
    assert await names(overview, "", 12, 5) == ["shop-11"]
    assert await names(overview, "nothing") == []
    page = await overview.page("mail".__eq__, "", 0, 5)
    assert ([line.tenant for line in page.lines], page.total) == (["mail"], 1)


async def test_tenants_that_are_not_in_memory_come_last_and_some_are_loaded(tenants: Tenants, look: Look) -> None:
    for k in range(30):
        await tenants.configure(f"t-{k:02d}", {})
    for tenant in list(tenants.cache.tenants.values()):
        tenants.cache.drop(tenant)
    clock = Clock()
    overview = look(clock=clock)
    page = await overview.page(everything, "", 0, 50)
    assert (page.total, page.loaded) == (30, 20)
    assert [line.is_loaded for line in page.lines] == [True] * 20 + [False] * 10
    assert page.lines[-1].labels is None
    clock.now += 10
    assert (await overview.page(everything, "", 0, 50)).loaded == 30


async def test_nothing_is_loaded_while_there_is_no_room(tenants: Tenants, look: Look) -> None:
    await tenants.configure("acme", {})
    tenants.cache.drop(tenants.cache.tenants["acme"])
    page = await look(room_bytes=-1).page(everything, "", 0, 50)
    assert [(line.tenant, line.is_loaded) for line in page.lines] == [("acme", False)]


async def test_names_and_ranks_are_remembered_for_some_seconds(tenants: Tenants, look: Look) -> None:
    clock = Clock()
    overview = look(clock=clock)
    await tenants.configure("one", {})
    assert await names(overview) == ["one"]
    await tenants.configure("two", {})
    assert await names(overview) == ["one"]
    clock.now += 10
    assert await names(overview) == ["one", "two"]


async def test_a_tenant_that_was_deleted_is_not_shown_again(tenants: Tenants, look: Look) -> None:
    clock = Clock()
    overview = look(clock=clock)
    await tenants.configure("one", {})
    assert await names(overview) == ["one"]
    await tenants.delete("one")
    assert [line.is_loaded for line in (await overview.page(everything, "", 0, 5)).lines] == [False]
    clock.now += 10
    assert await names(overview) == []
