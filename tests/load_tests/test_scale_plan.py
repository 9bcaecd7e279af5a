"""From costs to an installation: the arithmetic of the plan."""

from dataclasses import replace

import numpy as np
import pytest

from app.storage.redis_keys import SHARDS
from load_tests.scale.assumptions import GIB, Choices, Demand, Prices, UnitCosts
from load_tests.scale.plan import bill, bytes_by_tenant, ceilings, limits, plan, workers_for, writes_by_tenant
from load_tests.scale.results import Work
from load_tests.scale.shards import MOST, Need, Popularity, by_ranges, shards_for

COSTS = UnitCosts(
    predict=Work(200e-6, 30e-6),
    not_kept=Work(100e-6, 0.0),
    label=Work(400e-6, 90e-6),
    load=Work(1500e-6, 200e-6),
    snapshot=Work(3e-3, 0.0),
    following=Work(0.1, 0.01),
    follow_seconds=50e-6,
    tenant_bytes=Work(90_000.0, 58_000.0),
    worker_bytes=200 << 20,
    event_bytes=1100.0,
    kept_bytes=2200.0,
    label_write_seconds=90e-6,
    block_write_seconds=80e-6,
    kept_write_seconds=20e-6,
    label_disk_bytes=1600.0,
    kept_disk_bytes=2100.0,
    snapshot_disk_bytes=24_000.0,
    request_bytes=1800.0,
    answer_bytes=330.0,
)
DEMAND = Demand(predictions_per_day=1e8, tenants=10_000)
EVEN = np.full(len(SHARDS), 1.0 / len(SHARDS))


@pytest.fixture(scope="module")
def popularity() -> Popularity:
    return Popularity.of(DEMAND.tenants)


def test_requests_reach_tenants_by_their_popularity(popularity: Popularity) -> None:
    assert popularity.by_tag(popularity.shares).sum() == pytest.approx(1.0)
    assert popularity.distinct(0.001) == pytest.approx(0.001, rel=1e-3)
    assert popularity.distinct(1e9) == pytest.approx(DEMAND.tenants)
    assert popularity.misses(100.0) > popularity.misses(1000.0) > popularity.misses(DEMAND.tenants) == 0.0


def test_misses_are_those_of_a_memory_that_drops_the_least_recently_used(popularity: Popularity) -> None:
    drawn = np.random.default_rng(1).choice(DEMAND.tenants, 60_000, p=popularity.shares).tolist()
    held: dict[int, None] = {}
    missed = 0
    for number, tenant in enumerate(drawn):
        missed += tenant not in held and number >= 20_000
        held.pop(tenant, None)
        held[tenant] = None
        if len(held) > 1000:
            del held[next(iter(held))]
    assert missed / 40_000 == pytest.approx(popularity.misses(1000.0), abs=0.01)


def test_the_fewest_shards_are_taken_of_which_none_is_too_full() -> None:
    need, hot = Need(10.0, EVEN), np.zeros(MOST)
    hot[0] = 1.0
    even, uneven = shards_for([need]), shards_for([need], by_ranges)
    assert even is not None
    assert uneven is not None
    assert 10 <= even < uneven
    assert need.fullest(even) <= 1.0 < need.fullest(even - 1)
    assert shards_for([Need(1.1, hot)]) is None


def test_every_worker_follows_so_that_each_has_less_for_requests() -> None:
    assert workers_for(10.0, 0.0, 0.5) == 20
    assert workers_for(10.0, 0.1, 0.5) == 25
    with pytest.raises(ValueError, match="following takes"):
        workers_for(10.0, 0.5, 0.5)


def test_workers_are_busy_up_to_the_headroom(popularity: Popularity) -> None:
    made = plan(COSTS, DEMAND, Choices(), popularity)
    busy = sum(made.worker_cores.values())
    assert busy / made.workers <= 0.5 < busy / (made.workers - 1)


def test_nothing_kept_takes_nothing_of_the_store(popularity: Popularity) -> None:
    made = plan(COSTS, DEMAND, Choices(keep=False), popularity)
    kept = [some["kept predictions"] for some in (made.store_bytes, made.store_cores, made.disk_bytes_per_day)]
    assert kept == [0.0, 0.0, 0.0]
    assert made.workers < plan(COSTS, DEMAND, Choices(), popularity).workers


def test_no_tenant_keeps_more_than_its_limit(popularity: Popularity) -> None:
    stored = bytes_by_tenant(COSTS, DEMAND, Choices(kept_of_each=5, retained_events=7), popularity)
    assert stored["kept predictions"].max() == 5 * COSTS.kept_bytes
    assert stored["logs"].max() == 7 * COSTS.event_bytes
    short = bytes_by_tenant(COSTS, DEMAND, Choices(kept_seconds=60.0, kept_of_each=10**9), popularity)
    assert short["kept predictions"].sum() == pytest.approx(60.0 * DEMAND.predictions * COSTS.kept_bytes)


def test_a_busy_tenant_writes_blocks_so_that_it_takes_less_than_its_share(popularity: Popularity) -> None:
    writing = writes_by_tenant(COSTS, DEMAND, Choices(), popularity)
    assert writing[0] / writing.sum() < popularity.hottest


def test_a_plan_has_room_where_it_says_so(popularity: Popularity) -> None:
    made = plan(COSTS, DEMAND, Choices(), popularity)
    assert made.shards is not None
    assert all(need.fullest(made.shards) <= 1.0 for need in made.needs.values())
    used = list(limits(made).values())
    assert used == sorted(used, reverse=True)


def test_holding_fewer_tenants_trades_memory_for_loads(popularity: Popularity) -> None:
    everyone, some = (plan(COSTS, DEMAND, Choices(held=held), popularity) for held in (1.0, 0.1))
    assert everyone.loads == 0.0 < some.loads
    assert some.workers > everyone.workers
    assert some.worker_bytes < everyone.worker_bytes


def test_with_ten_times_the_labels_the_end_of_following_them_is_ten_times_nearer(popularity: Popularity) -> None:
    made = plan(COSTS, DEMAND, Choices(keep=False), popularity)
    more = plan(COSTS, replace(DEMAND, predictions_per_day=1e9), Choices(keep=False), popularity)
    text = "following all labels fills every worker"
    assert ceilings(made, COSTS)[text] == pytest.approx(10 * ceilings(more, COSTS)[text])


def test_a_bill_is_what_is_used_times_its_price(popularity: Popularity) -> None:
    made = plan(COSTS, DEMAND, Choices(shard_bytes=16 * GIB), popularity)
    found = bill(made, Prices(core_hour=1.0, gib_hour=0.0, disk_gib_month=0.0))
    assert found is not None
    dollars = {what: cost for what, (_, cost) in found.items() if cost}
    assert made.shards is not None
    assert dollars == {"cores of workers": 730.0 * made.workers, "cores of stores, 2 each": 730.0 * made.shards * 4}
