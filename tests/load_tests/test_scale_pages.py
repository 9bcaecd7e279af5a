"""The section and the plan that are made of a run, without a run."""

import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from load_tests.scale.costs import costs_of
from load_tests.scale.figures import Asked, Figure, Idle
from load_tests.scale.following import CLUSTER, ONE_SERVER
from load_tests.scale.page import scale_section
from load_tests.scale.plan_page import plan_section
from load_tests.scale.results import (
    ExampleFound,
    FollowingFound,
    KeptFound,
    ModelFound,
    ResidentsFound,
    Results,
    StoreFound,
    TailFound,
    TenantsFound,
    WorkersFound,
    WritesFound,
)
from load_tests.scale.sizes import WHOLE

ROOT = Path(__file__).parents[2]
BENCH_PYTHON = ROOT / ".venv-bench" / "bin" / "python"
PLOTS = ("features", "example", "tenants", "restart")


def asked(worker: float, rate: float) -> Asked:
    return Asked(
        rate=Figure([rate, 0.9 * rate, 1.1 * rate]),
        p50=Figure([3.0, 2.5, 4.0]),
        p99=Figure([9.0, 8.0, 12.0]),
        worker=Figure([worker, 0.9 * worker, 1.1 * worker]),
        store=Figure([worker / 10] * 3),
        client=Figure([0.1] * 3),
    )


def writes(rate: float) -> list[WritesFound]:
    return [WritesFound(connections, rate * share, 0.5, 2000.0) for connections, share in ((1, 0.1), (256, 1.0))]


@pytest.fixture
def results() -> Results:
    def following(store: str, worker: float, idle: float) -> FollowingFound:
        asks = (asked(worker, 5000.0), asked(0.8 * worker, 6000.0), asked(2 * worker, 2500.0))
        workers = (Idle(idle, 0.005), Idle(idle + 0.03, 0.1))
        return FollowingFound(store, 0.001, Idle(idle, 0.005), 1000.0, *workers, 30.0, *asks)

    return Results(
        sizes=WHOLE,
        machine=["Processor: imagined"],
        load_averages=(0.5, 1.5),
        minutes=11.0,
        resumed=[],
        workers=[WorkersFound(number, asked(120.0, 7000.0 * number), asked(130.0, 6000.0)) for number in (1, 2)],
        models=[
            ModelFound(size, asked(120.0, 7000.0), asked(200.0, 4000.0), 40 * size, 48 * size, 1e-6 * size)
            for size in WHOLE.models
        ],
        examples=[
            ExampleFound(size, 17 * size, *(asked(some * (80.0 + size / 3), 7000.0) for some in (1.0, 0.9, 2.0)))
            for size in WHOLE.examples
        ],
        tenants=[
            TenantsFound(
                tenants=number,
                start_seconds=1.5,
                ready_milliseconds=0.5,
                resident_bytes=(200 << 20) + 25_000 * number,
                empty_bytes=200 << 20,
                store_bytes=14_000 * number,
                load_microseconds=1200.0,
                idle=Idle(0.01, 0.001),
                popular=asked(130.0 + number / 1000, 6500.0),
                evenly=asked(170.0, 5500.0),
                evenly_not_kept=asked(110.0, 8000.0),
            )
            for number in WHOLE.tenants
        ],
        residents=[
            ResidentsFound(
                size, number, 12_000.0 + 80 * size, 10_000.0 + 48 * size, 1500.0, 150.0, 2.0, 4.0, 3000.0, 2e4
            )
            for size, number in WHOLE.residents
        ],
        tails=[
            TailFound(events, Figure([1.2, 1.1, 1.3]), Figure([1.3 + events / 5e4] * 3), 6_000_000 + 1100 * events)
            for events in WHOLE.tails
        ],
        kept=KeptFound(1800, 330, 2000.0, 2200.0, 600.0),
        store=StoreFound(writes(12_000.0), writes(10_000.0), writes(2000.0)),
        following=[following(ONE_SERVER, 130.0, 0.005), following(CLUSTER, 190.0, 0.1)],
    )


def test_the_section_has_a_row_for_every_size(results: Results) -> None:
    section = scale_section(results)
    for size in (*WHOLE.models, *WHOLE.examples, *WHOLE.tenants, *WHOLE.tails):
        assert f"| {size:,} |" in section


def test_a_prediction_of_the_plan_costs_what_many_tenants_make_of_it(results: Results) -> None:
    some, many = (130.0 + tenants / 1000 for tenants in (1000, 100_000))
    costs = costs_of(results)
    assert costs.predict_seconds == pytest.approx(190e-6 * many / some)
    assert costs.not_kept_seconds == pytest.approx(0.8 * 190e-6 * many / some)
    assert costs.store_predict_seconds == pytest.approx(19e-6 * many / some)
    assert costs.heard_seconds == pytest.approx(30e-6)


def test_a_figure_is_told_with_its_spread(results: Results) -> None:
    assert "| 7,000 (6,300..7,700) |" in scale_section(results)


def test_what_was_taken_over_from_another_run_is_named(results: Results) -> None:
    assert "earlier run" not in scale_section(results)
    told = scale_section(replace(results, resumed=["one store", "restarts"]))
    assert "Taken over from an earlier run: one store; restarts." in told


def test_a_single_round_has_no_spread() -> None:
    assert Figure([7000.0]).told() == "7,000"


def test_two_workers_are_told_beside_one(results: Results) -> None:
    assert "Two workers serve 2.00 times as many predictions as one, and 1.00 times" in scale_section(results)


@pytest.mark.parametrize("section_of", [scale_section, plan_section], ids=["scale", "plan"])
def test_every_row_of_a_table_is_as_long_as_its_header(results: Results, section_of: object) -> None:
    assert callable(section_of)
    for block in re.findall(r"(?:^\|.*\n?)+", section_of(results), re.MULTILINE):
        assert len({line.count("|") for line in block.splitlines()}) == 1, block


def test_the_section_names_the_plots_that_are_drawn(results: Results) -> None:
    assert re.findall(r"\]\(performance/(\w+)\.svg\)", scale_section(results)) == list(PLOTS)


def test_results_survive_being_written_and_read(results: Results) -> None:
    assert msgspec.json.decode(msgspec.json.encode(results), type=Results) == results


def test_the_plan_says_how_many_workers_and_shards(results: Results) -> None:
    planned = plan_section(results)
    assert re.search(r"\| workers, each a service of its own with one core \| \d+ \|", planned)
    assert re.search(r"\| shards, if tags are dealt out one by one \| \d+, and as many replicas \|", planned)


def test_a_store_that_hardly_writes_is_not_enough_in_any_number(results: Results) -> None:
    slow = replace(results, store=StoreFound(writes(100.0), writes(50.0), writes(20.0)))
    planned = plan_section(slow)
    assert "| shards, if tags are dealt out one by one | no number is enough |" in planned
    assert "No number of shards is enough." in planned


@pytest.mark.e2e
@pytest.mark.skipif(not BENCH_PYTHON.exists(), reason="the environment of the benchmarks is not installed")
def test_plots_are_drawn_with_text_and_twice_the_same(results: Results, tmp_path: Path) -> None:
    (tmp_path / "results.json").write_bytes(msgspec.json.encode(results))
    for folder in ("first", "second"):
        command = [str(BENCH_PYTHON), "-m", "load_tests.scale.drawing", str(tmp_path / "results.json")]
        subprocess.run([*command, str(tmp_path / folder)], check=True, cwd=ROOT, env=dict(os.environ))
    for name in PLOTS:
        drawn = (tmp_path / "first" / f"{name}.svg").read_text()
        assert "<text" in drawn
        assert drawn == (tmp_path / "second" / f"{name}.svg").read_text()
