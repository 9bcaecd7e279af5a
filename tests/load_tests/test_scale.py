"""The sections and the plan that are made of a run, and the smallest pieces of a real one."""

import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from load_tests.harness.sizes import FULL, QUICK
from load_tests.harness.wrk import installed
from load_tests.scale import plan
from load_tests.scale.assumptions import GIB, Assumptions, UnitCosts
from load_tests.scale.costs import measure_models
from load_tests.scale.page import plan_section, scale_section
from load_tests.scale.results import (
    CLUSTER,
    ONE_SERVER,
    Cost,
    Costs,
    ExampleFound,
    Figure,
    FollowingFound,
    KeptFound,
    Kind,
    ModelFound,
    ResidentsFound,
    Results,
    TailFound,
    TenantsFound,
    Work,
    WritesFound,
)
from load_tests.scale.store import measure_writes

ROOT = Path(__file__).parents[2]
BENCH_PYTHON = ROOT / ".venv-bench" / "bin" / "python"
PLOTS = ("features", "example", "tenants", "restart")
ASSUMED = Assumptions(predictions_per_day=1e8, tenants=10_000)

Planned = Callable[..., plan.Plan]


def costs(worker: float, rate: float, *kinds: Kind) -> Costs:
    def around(value: float) -> Figure:
        return Figure([value, 0.9 * value, 1.1 * value])

    cost = Cost(around(rate), around(3.0), around(9.0), around(worker), around(worker / 10), around(0.1))
    return dict.fromkeys(kinds, cost)


def writes(labels: float, kept: float, blocks: float) -> list[WritesFound]:
    rates = {Kind.LABEL_WRITES: labels, Kind.KEPT_WRITES: kept, Kind.BLOCK_WRITES: blocks}
    return [
        WritesFound(kind, connections, rate * share, 50.0, 0.5, 2e6, 2000.0)
        for kind, rate in rates.items()
        for connections, share in ((1, 0.1), (256, 1.0))
    ]


@pytest.fixture(scope="module")
def results() -> Results:
    def following(store: str, worker: float, idle: float) -> FollowingFound:
        asked = costs(worker, 5000.0, Kind.PREDICT, Kind.FEEDBACK) | costs(worker / 2, 9000.0, Kind.NOT_KEPT)
        quiet, busy = Work(idle, 0.005), Work(idle + 0.03, 0.1)
        return FollowingFound(store, 0.001, quiet, quiet, busy, 30.0, asked)

    def tenants(number: int) -> TenantsFound:
        asked = costs(130.0 + number / 1000, 6500.0, Kind.POPULAR, Kind.EVEN, Kind.EVEN_NOT_KEPT)
        memory, idle = (200 << 20) + 25_000 * number, Work(0.01, 0.001)
        return TenantsFound(number, 1.5, 0.5, memory, 25_000, 1200.0, idle, 200 << 20, 14_000 * number, asked)

    model, example = (Kind.PREDICT, Kind.FEEDBACK), (Kind.PREDICT, Kind.NOT_KEPT, Kind.FEEDBACK)
    return Results(
        sizes=FULL,
        machine=["Processor: imagined"],
        minutes=11.0,
        workers={number: costs(120.0, 7000.0 * number, Kind.PREDICT, Kind.MIXED) for number in (1, 2)},
        models=[
            ModelFound(n, 40 * n, 40, 48 * n, 48, 1e-6 * n, costs(120.0, 7000.0, *model)) for n in FULL.model_sizes
        ],
        examples=[ExampleFound(n, 17 * n, costs(80.0 + n / 3, 7000.0, *example)) for n in FULL.example_sizes],
        tenants=[tenants(number) for number in FULL.tenant_counts],
        residents=[ResidentsFound(n[0], 12e3, 1e4, 1500.0, 150.0, 2.0, 4.0, 3000.0, 2e4) for n in FULL.residents],
        tails=[TailFound(n, Figure([1.2, 1.1]), Figure([1.3 + n / 5e4]), 6_000_000 + 1100 * n) for n in FULL.tails],
        kept=KeptFound(1800, 330, 2000.0, 2200.5, 600.0),
        store=writes(12_000.0, 10_000.0, 2000.0),
        following=[following(ONE_SERVER, 130.0, 0.005), following(CLUSTER, 190.0, 0.1)],
    )


@pytest.fixture(scope="module")
def popularity() -> plan.Popularity:
    return plan.Popularity.of(ASSUMED.tenants)


@pytest.fixture(scope="module")
def unit_costs(results: Results) -> UnitCosts:
    return UnitCosts(results)


@pytest.fixture(scope="module")
def planned(unit_costs: UnitCosts, popularity: plan.Popularity) -> Planned:
    return lambda **changes: plan.Plan(unit_costs, replace(ASSUMED, **changes), popularity)


def test_the_section_has_a_row_for_every_size_with_its_spread(results: Results) -> None:
    section = scale_section(results)
    for size in (*FULL.model_sizes, *FULL.example_sizes, *FULL.tenant_counts, *FULL.tails):
        assert f"| {size:,} |" in section
    assert "| 7,000 (6,300..7,700) |" in section
    assert Figure([7000.0]).text() == "7,000"  # a single round has no spread
    assert "Two workers serve 2.00 times as many predictions as one" in section
    assert re.findall(r"\]\(performance/(\w+)\.svg\)", section) == list(PLOTS)


def test_a_prediction_of_the_plan_costs_what_many_tenants_make_of_it(unit_costs: UnitCosts) -> None:
    some, many = (130.0 + tenants / 1000 for tenants in (1000, 100_000))
    assert unit_costs.predict.workers == pytest.approx(190e-6 * many / some)
    assert unit_costs.predict.store == pytest.approx(19e-6 * many / some)
    assert unit_costs.label.workers == pytest.approx(190e-6)
    assert unit_costs.follow_seconds == pytest.approx(30e-6)


@pytest.mark.parametrize("section_of", [scale_section, plan_section], ids=["scale", "plan"])
def test_every_row_of_a_table_is_as_long_as_its_header(results: Results, section_of: Callable[[Results], str]) -> None:
    for block in re.findall(r"(?:^\|.*\n?)+", section_of(results), re.MULTILINE):
        assert len({line.count("|") for line in block.splitlines()}) == 1, block


def test_results_survive_being_written_and_read(results: Results) -> None:
    assert msgspec.json.decode(msgspec.json.encode(results), type=Results) == results


def test_the_plan_says_how_many_workers_and_shards(results: Results) -> None:
    planned = plan_section(results)
    assert re.search(r"\| workers, each a service of its own with one core \| \d+ \|", planned)
    assert re.search(r"\| shards, if tags are dealt out one by one \| \d+, and as many replicas \|", planned)
    slow = plan_section(msgspec.structs.replace(results, store=writes(100.0, 50.0, 20.0)))
    assert "| shards, if tags are dealt out one by one | no number is enough |" in slow
    assert "No number of shards is enough." in slow


def test_requests_reach_tenants_by_their_popularity(popularity: plan.Popularity) -> None:
    assert popularity.by_tag(popularity.shares).sum() == pytest.approx(1.0)
    assert popularity.distinct(0.001) == pytest.approx(0.001, rel=1e-3)
    assert popularity.distinct(1e9) == pytest.approx(ASSUMED.tenants)
    assert popularity.misses(100.0) > popularity.misses(1000.0) > popularity.misses(ASSUMED.tenants) == 0.0


def test_misses_are_those_of_a_memory_that_drops_the_least_recently_used(popularity: plan.Popularity) -> None:
    drawn = np.random.default_rng(1).choice(ASSUMED.tenants, 60_000, p=popularity.shares).tolist()
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
    need, hot = plan.Need(10.0, np.full(plan.MOST, 1.0 / plan.MOST)), np.zeros(plan.MOST)
    hot[0] = 1.0
    even, uneven = plan.shards_for([need]), plan.shards_for([need], plan.by_ranges)
    assert even is not None
    assert uneven is not None
    assert 10 <= even < uneven
    assert need.fullest(even) <= 1.0 < need.fullest(even - 1)
    assert plan.shards_for([plan.Need(1.1, hot)]) is None


def test_every_worker_follows_so_that_each_has_less_for_requests() -> None:
    assert plan.workers_for(10.0, 0.0, 0.5) == 20
    assert plan.workers_for(10.0, 0.1, 0.5) == 25
    with pytest.raises(ValueError, match="following takes"):
        plan.workers_for(10.0, 0.5, 0.5)


def test_workers_are_busy_up_to_the_headroom(planned: Planned) -> None:
    made = planned()
    busy = sum(made.worker_cores.values())
    assert busy / made.workers <= 0.5 < busy / (made.workers - 1)


def test_nothing_kept_takes_nothing_of_the_store(planned: Planned) -> None:
    made = planned(keep=False)
    kept = [some["kept predictions"] for some in (made.store_bytes, made.store_cores, made.disk_bytes_per_day)]
    assert kept == [0.0, 0.0, 0.0]
    assert made.workers < planned().workers


def test_no_tenant_keeps_more_than_its_limit(unit_costs: UnitCosts, popularity: plan.Popularity) -> None:
    stored = plan.bytes_by_tenant(unit_costs, replace(ASSUMED, kept_of_each=5, retained_events=7), popularity)
    assert stored["kept predictions"].max() == 5 * unit_costs.kept_bytes
    assert stored["logs"].max() == 7 * unit_costs.event_bytes
    short = plan.bytes_by_tenant(unit_costs, replace(ASSUMED, kept_seconds=60.0, kept_of_each=10**9), popularity)
    assert short["kept predictions"].sum() == pytest.approx(60.0 * ASSUMED.predictions * unit_costs.kept_bytes)


def test_a_busy_tenant_writes_blocks_and_so_less_than_its_share(
    unit_costs: UnitCosts, popularity: plan.Popularity
) -> None:
    writing = plan.writes_by_tenant(unit_costs, ASSUMED, popularity)
    assert writing[0] / writing.sum() < popularity.hottest


def test_a_plan_has_room_where_it_says_so(planned: Planned) -> None:
    made = planned()
    assert made.shards is not None
    assert all(need.fullest(made.shards) <= 1.0 for need in made.needs.values())
    used = list(plan.limits(made).values())
    assert used == sorted(used, reverse=True)


def test_holding_fewer_tenants_trades_memory_for_loads(planned: Planned) -> None:
    everyone, some = planned(), planned(held=0.1)
    assert everyone.loads == 0.0 < some.loads
    assert some.workers > everyone.workers
    assert some.worker_bytes < everyone.worker_bytes


def test_ten_times_the_labels_bring_the_end_of_following_ten_times_nearer(
    planned: Planned, unit_costs: UnitCosts
) -> None:
    some, more = planned(keep=False), planned(predictions_per_day=1e9, keep=False)
    text = "following all labels fills every worker"
    assert plan.ceilings(some, unit_costs)[text] == pytest.approx(10 * plan.ceilings(more, unit_costs)[text])


def test_a_bill_is_what_is_used_times_its_price(planned: Planned) -> None:
    made = planned(shard_bytes=16 * GIB, core_hour=1.0, gib_hour=0.0, disk_gib_month=0.0)
    found = plan.bill(made)
    assert found is not None
    assert made.shards is not None
    dollars = {what: cost for what, (_, cost, _) in found.items() if cost}
    assert dollars == {"cores of workers": 730.0 * made.workers, "cores of stores, 2 each": 730.0 * made.shards * 4}


@pytest.mark.e2e
@pytest.mark.skipif(not BENCH_PYTHON.exists(), reason="the environment of the benchmarks is not installed")
def test_plots_have_text_and_are_twice_the_same(results: Results, tmp_path: Path) -> None:
    (tmp_path / "results.json").write_bytes(msgspec.json.encode(results))
    for folder in ("first", "second"):
        command = [str(BENCH_PYTHON), "-m", "load_tests.scale.plots", str(tmp_path / "results.json")]
        subprocess.run([*command, str(tmp_path / folder)], check=True, cwd=ROOT, env=dict(os.environ))
    for name in PLOTS:
        drawn = (tmp_path / "first" / f"{name}.svg").read_text()
        assert "<text" in drawn
        assert drawn == (tmp_path / "second" / f"{name}.svg").read_text()


@pytest.mark.e2e
@pytest.mark.timeout(180)
@pytest.mark.skipif(not installed(), reason="wrk is not installed")
def test_models_and_writes_are_measured(tmp_path: Path) -> None:
    (model,) = measure_models(tmp_path / "models", replace(QUICK, model_sizes=(20_000,)))
    assert model.resident_bytes > 24 * model.features
    assert 0.0 < model.costs[Kind.PREDICT].worker.median < model.costs[Kind.FEEDBACK].worker.median
    found = measure_writes(tmp_path / "store", QUICK)
    for alone, together in zip(found[::3], found[2::3], strict=True):
        # By the processor: one slow sync of a busy disk can take up the whole of so short a trial.
        assert 0.0 < together.store_microseconds < alone.store_microseconds
        assert together.rate > 0.0
        assert together.disk_bytes > 500.0
