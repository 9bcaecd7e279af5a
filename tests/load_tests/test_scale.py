"""The sections that are made of a run, an interrupted run, and the smallest pieces of a real one."""

import os
import re
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from load_tests.harness.sizes import FULL, QUICK, Sizes
from load_tests.harness.wrk import installed
from load_tests.scale import request_costs, store_writes
from load_tests.scale.__main__ import Steps
from load_tests.scale.assumptions import unit_costs
from load_tests.scale.page import scale_section
from load_tests.scale.plan_page import plan_section
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
    WorkersFound,
    WritesFound,
)
from tests.load_tests.commands import ROOT, Command

BENCH_PYTHON = ROOT / ".venv-bench" / "bin" / "python"
PLOTS = ("features", "example", "tenants", "restart")
KEPT = KeptFound(1800, 330, 2000.0, 2200.5, 600.0)


def costs(worker: float, rate: float, *kinds: Kind) -> Costs:
    def around(value: float) -> Figure:
        return Figure([value, 0.9 * value, 1.1 * value])

    cost = Cost(around(rate), around(3.0), around(9.0), around(worker), around(worker / 10), around(0.1))
    return dict.fromkeys(kinds, cost)


def writes(labels: float, kept: float, blocks: float) -> list[WritesFound]:
    rates = {Kind.LABEL_WRITES: labels, Kind.KEPT_WRITES: kept, Kind.BLOCK_WRITES: blocks}
    return [
        WritesFound(kind, connections, rate * share, 0.5, 2000.0)
        for kind, rate in rates.items()
        for connections, share in ((1, 0.1), (256, 1.0))
    ]


@pytest.fixture
def results() -> Results:
    def following(store: str, worker: float, idle: float) -> FollowingFound:
        asked = costs(worker, 5000.0, Kind.PREDICT, Kind.NOT_KEPT, Kind.FEEDBACK)
        quiet, busy = Work(idle, 0.005), Work(idle + 0.03, 0.1)
        return FollowingFound(store, 0.001, quiet, quiet, busy, 30.0, asked)

    def tenants(number: int) -> TenantsFound:
        asked = costs(130.0 + number / 1000, 6500.0, Kind.POPULAR, Kind.EVEN, Kind.EVEN_NOT_KEPT)
        memory = ((200 << 20) + 25_000 * number, 200 << 20, 14_000 * number)
        return TenantsFound(number, 1.5, 0.5, *memory, 1200.0, Work(0.01, 0.001), asked)

    model, example = (Kind.PREDICT, Kind.FEEDBACK), (Kind.PREDICT, Kind.NOT_KEPT, Kind.FEEDBACK)
    return Results(
        sizes=FULL,
        machine=["Processor: imagined"],
        load_averages=(0.5, 1.5),
        minutes=11.0,
        resumed=[],
        workers=[WorkersFound(number, costs(120.0, 7000.0 * number, Kind.PREDICT, Kind.MIXED)) for number in (1, 2)],
        models=[ModelFound(n, 40 * n, 48 * n, 1e-6 * n, costs(120.0, 7000.0, *model)) for n in FULL.model_sizes],
        examples=[ExampleFound(n, 17 * n, costs(80.0 + n / 3, 7000.0, *example)) for n in FULL.example_sizes],
        tenants=[tenants(number) for number in FULL.tenant_counts],
        residents=[ResidentsFound(*n, 12e3, 1e4, 1500.0, 150.0, 2.0, 4.0, 3000.0, 2e4) for n in FULL.residents],
        tails=[TailFound(n, Figure([1.2, 1.1]), Figure([1.3 + n / 5e4]), 6_000_000 + 1100 * n) for n in FULL.tails],
        kept=KEPT,
        store=writes(12_000.0, 10_000.0, 2000.0),
        following=[following(ONE_SERVER, 130.0, 0.005), following(CLUSTER, 190.0, 0.1)],
    )


def test_the_section_has_a_row_for_every_size_with_its_spread(results: Results) -> None:
    section = scale_section(results)
    for size in (*FULL.model_sizes, *FULL.example_sizes, *FULL.tenant_counts, *FULL.tails):
        assert f"| {size:,} |" in section
    assert "| 7,000 (6,300..7,700) |" in section
    assert Figure([7000.0]).text() == "7,000"  # a single round has no spread
    assert "Two workers serve 2.00 times as many predictions as one" in section
    assert re.findall(r"\]\(performance/(\w+)\.svg\)", section) == list(PLOTS)


def test_a_prediction_of_the_plan_costs_what_many_tenants_make_of_it(results: Results) -> None:
    some, many = (130.0 + tenants / 1000 for tenants in (1000, 100_000))
    found = unit_costs(results)
    assert found.predict.workers == pytest.approx(190e-6 * many / some)
    assert found.predict.store == pytest.approx(19e-6 * many / some)
    assert found.label.workers == pytest.approx(190e-6)
    assert found.follow_seconds == pytest.approx(30e-6)


def test_steps_of_an_earlier_run_are_named(results: Results) -> None:
    assert "earlier run" not in scale_section(results)
    section = scale_section(msgspec.structs.replace(results, resumed=["one store", "restarts"]))
    assert "Taken over from an earlier run: one store; restarts." in section


@pytest.mark.parametrize("section_of", [scale_section, plan_section], ids=["scale", "plan"])
def test_every_row_of_a_table_is_as_long_as_its_header(results: Results, section_of: object) -> None:
    assert callable(section_of)
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


def measured(folder: Path, sizes: Sizes) -> KeptFound:
    assert (folder.name, sizes) == ("kept", QUICK)
    return KEPT


def broken(_folder: Path, _sizes: Sizes) -> KeptFound:
    raise RuntimeError("interrupted")


def test_a_resumed_run_measures_only_what_is_missing(tmp_path: Path) -> None:
    def steps(*, resume: bool) -> Steps:
        return Steps(tmp_path / "work", tmp_path / "kept", QUICK).begin(resume=resume)

    with pytest.raises(RuntimeError, match="interrupted"):
        steps(resume=False).take("kept", "kept predictions", broken)
    assert steps(resume=True).take("kept", "kept predictions", measured) == KEPT
    resumed = steps(resume=True)
    assert resumed.take("kept", "kept predictions", broken) == KEPT
    assert resumed.resumed == ["kept predictions"]
    with pytest.raises(RuntimeError, match="interrupted"):
        steps(resume=False).take("kept", "kept predictions", broken)


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
    (model,) = request_costs.measure_models(tmp_path / "models", replace(QUICK, model_sizes=(20_000,)))
    assert model.resident_bytes > 24 * model.features
    assert 0.0 < model.costs[Kind.PREDICT].worker.median < model.costs[Kind.FEEDBACK].worker.median
    found = store_writes.measure(tmp_path / "store", replace(QUICK, store_seconds=0.2))
    for alone, together in zip(found[::3], found[2::3], strict=True):
        assert together.rate > alone.rate
        assert together.disk_bytes > 500.0


@pytest.mark.e2e
@pytest.mark.timeout(180)
@pytest.mark.skipif(not installed(), reason="wrk is not installed")
def test_a_run_that_is_terminated_leaves_nothing(tmp_path: Path) -> None:
    with Command(tmp_path, "scale", "--quick") as command:
        assert command.interrupt_after("one worker and two", signal.SIGTERM) == 1, command.output
        assert command.left() == []
