"""The live state of a tenant: looked at once a second, however many watch."""

import asyncio

import pytest

from app.learning.events import FeedbackGiven
from app.learning.example import example_of
from app.learning.state import TenantState, advance
from app.review.live import LiveStates
from app.storage.metadata import Position
from app.storage.review.queue import QueueChanges, QueueCounts
from app.tenants.tenant import Tenant

pytestmark = pytest.mark.anyio


class Queues:
    def __init__(self) -> None:
        self.asked = 0
        self.counts: QueueCounts | None = QueueCounts()

    async def status(self, tenant: str) -> QueueCounts | None:
        assert tenant == "acme"
        self.asked += 1
        await asyncio.sleep(0)
        return self.counts


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def tenant() -> Tenant:
    return Tenant("acme", TenantState(), Position("one", 0, "one"))


async def test_many_who_watch_cost_one_look_a_second(tenant: Tenant) -> None:
    queues, clock = Queues(), Clock()
    live = LiveStates(queues, clock)
    states = await asyncio.gather(*(live.of(tenant) for _ in range(50)))
    assert len({id(state) for state in states}) == 1
    assert queues.asked == 1
    advance(tenant.state, FeedbackGiven(example_of({"a": 1.0}), 1))
    assert await live.of(tenant) is states[0]
    clock.now += 1
    changed = await live.of(tenant)
    assert (changed.version, changed.counts.positives, queues.asked) == (1, 1, 2)


async def test_a_state_that_has_not_changed_is_the_same_object(tenant: Tenant) -> None:
    queues, clock = Queues(), Clock()
    live = LiveStates(queues, clock)

    async def look(counts: QueueCounts | None) -> object:
        queues.counts = counts
        clock.now += 1
        return await live.of(tenant)

    counts = QueueCounts(QueueChanges(3, 1), 50.0, {"random": 4})
    first = await look(counts)
    assert await look(counts) is first
    assert await look(QueueCounts(QueueChanges(3, 1), 50.5, {"random": 4})) is first, "the oldest item has aged"
    fewer = await look(QueueCounts(QueueChanges(2, 1), 50.0, {"random": 3}))
    assert fewer is not first
    other = await look(QueueCounts(QueueChanges(2, 1), 5.0, {"random": 3}))
    assert other is not fewer, "there is another oldest item"
    silent = await look(None)
    assert silent is not other
    assert await look(None) is silent
    assert await look(QueueCounts()) is not silent


async def test_a_tenant_that_was_made_again_has_a_new_state(tenant: Tenant) -> None:
    live = LiveStates(Queues(), Clock())
    first = await live.of(tenant)
    assert await live.of(Tenant("acme", TenantState(), Position("two", 0, "two"))) is not first
