"""The budget of all kept predictions, over a real store."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from app.storage.client import connect
from app.storage.memory import NodeMemory
from app.storage.predictions import PredictionStore
from app.telemetry.counters import Telemetry
from app.tenants.predictions.kept_predictions import KeptPredictions
from app.tenants.predictions.prediction_budget import HIGH, LOW, PredictionBudget, level_of
from tests.servers import Server
from tests.tenants.test_kept_predictions import Status
from tests.tenants.workers import feedback, worker

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

KIB = 1 << 10
LIMIT = 1000 * KIB


@pytest.mark.parametrize(
    ("sizes", "target", "level"),
    [([], 5, 0), ([3], 5, 3), ([3, 4], 7, 4), ([3, 4], 6, 3), ([1, 9, 9], 11, 5), ([1, 9, 9], 0, 0), ([5, 5], 9, 4)],
)
def test_the_largest_are_cut_to_one_level(sizes: Sequence[int], target: int, level: int) -> None:
    assert level_of(sizes, target) == level
    assert sum(min(size, level) for size in sizes) <= max(target, 0)


class Setup:
    """A worker whose store claims any use of memory."""

    def __init__(self, url: str, at_most_bytes: int) -> None:
        self.connection = connect(url)
        self.telemetry = Telemetry()
        self.store = PredictionStore(self.connection, 60, 10_000, 8000 * KIB)
        self.kept = KeptPredictions(self.store, Status(), enabled=True, telemetry=self.telemetry)
        self.nodes = [NodeMemory(0, 0)]
        self.budget = PredictionBudget(self.store, self.kept, self.read_memory, at_most_bytes)

    async def read_memory(self) -> list[NodeMemory]:
        return self.nodes


@pytest.fixture
async def setup(store: Server) -> AsyncIterator[Setup]:
    store.flush_all()
    made = Setup(store.url, LIMIT)
    yield made
    await made.connection.aclose()


async def keep(setup: Setup, url: str, folder: Path, given: dict[str, int], size: int = 10 * KIB) -> int:
    """Keep predictions of tenants; return how many have got an id."""
    async with worker(url, folder) as tenants:
        held = {name: await tenants.hold(name) for name in given}
        verdict = next(iter(held.values())).predict(feedback(1).example)
        kept = 0
        for name, number in given.items():
            for _ in range(number):
                kept += setup.kept.keep(held[name], size * b"x", verdict) is not None
                await setup.kept.write()  # a block for each
        return kept


async def test_beyond_the_budget_nothing_is_kept_and_the_largest_tenants_lose_their_oldest(
    setup: Setup, store: Server, tmp_path: Path
) -> None:
    assert await keep(setup, store.url, tmp_path, {"large": 120, "small": 5}) == 125  # before the first check
    assert sum((await setup.store.bytes_by_tenant()).values()) > LIMIT
    await setup.budget.check()
    found = await setup.store.bytes_by_tenant()
    assert 0 < sum(found.values()) <= LIMIT
    assert found["small"] > 5 * 10 * KIB
    assert setup.budget.kept_bytes == sum(found.values())
    setup.kept.room.bytes = 0.0
    assert await keep(setup, store.url, tmp_path, {"small": 3}) == 0
    assert setup.telemetry.not_kept == 3


async def test_tenants_with_one_large_block_each_do_not_all_lose_it(
    setup: Setup, store: Server, tmp_path: Path
) -> None:
    await keep(setup, store.url, tmp_path, {f"flood-{number}": 1 for number in range(40)}, size=100 * KIB)
    await setup.budget.check()
    found = await setup.store.bytes_by_tenant()
    assert LIMIT / 2 < sum(found.values()) <= LIMIT


async def test_a_worker_keeps_no_more_than_its_room_between_two_checks(
    setup: Setup, store: Server, tmp_path: Path
) -> None:
    await setup.budget.check()
    assert setup.kept.room.bytes == LIMIT / 2
    some = await keep(setup, store.url, tmp_path, {"large": 200})
    assert LIMIT / 2 <= some * 10 * KIB < LIMIT / 2 + 20 * KIB
    await setup.budget.check()
    assert 0 < setup.kept.room.bytes < LIMIT / 3


async def test_while_the_store_is_nearly_full_kept_predictions_make_room(
    setup: Setup, store: Server, tmp_path: Path
) -> None:
    await keep(setup, store.url, tmp_path, {"large": 60, "small": 5})
    limit = 8000 * KIB
    setup.nodes = [NodeMemory(int((HIGH + 0.01) * limit), limit)]
    before = sum((await setup.store.bytes_by_tenant()).values())
    await setup.budget.check()
    left = await setup.store.bytes_by_tenant()
    freed = before - sum(left.values())
    assert (HIGH - LOW) * limit <= freed <= (HIGH - LOW + 0.02) * limit + 40 * KIB
    assert left["small"] > 5 * 10 * KIB
    assert await keep(setup, store.url, tmp_path, {"small": 1}) == 0
    setup.nodes = [NodeMemory(limit // 2, limit)]
    await setup.budget.check()
    assert setup.budget.limit_bytes == LIMIT
    assert await keep(setup, store.url, tmp_path, {"small": 1}) == 1


async def test_the_budget_is_at_most_a_quarter_of_the_memory_of_the_store(setup: Setup) -> None:
    setup.nodes = [NodeMemory(0, 1000 * KIB), NodeMemory(0, 600 * KIB)]
    await setup.budget.check()
    assert setup.budget.limit_bytes == 400 * KIB


async def test_a_prediction_that_is_too_large_for_its_tenant_is_not_kept(
    setup: Setup, store: Server, tmp_path: Path
) -> None:
    assert await keep(setup, store.url, tmp_path, {"acme": 1}, size=1001 * KIB) == 0
    assert await keep(setup, store.url, tmp_path, {"acme": 1}, size=999 * KIB) == 1
    assert setup.telemetry.not_kept == 1
