"""Play scenarios of traffic with Locust against services of their own; print a table, judge the thresholds.

Ends with 1 if one was missed. A run of all scenarios in full length writes its section of docs/performance.md.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from load_tests.harness import machine
from load_tests.harness.report import write_section
from load_tests.scenarios import thresholds
from load_tests.scenarios.catalogue import SCENARIOS
from load_tests.scenarios.outcomes import Outcome, figures
from load_tests.scenarios.page import Run, load_section
from load_tests.scenarios.playing import Stage, has_locust

ROOT = Path(__file__).parents[2]
THRESHOLDS = Path(__file__).with_name("thresholds.toml")
SECONDS = 20.0
INTERRUPTED = 130  # what a shell makes of Ctrl-C
STARTED = time.monotonic()


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))  # every process that was started ends, too
    if not has_locust(options.locust_python):
        sys.exit(f"{options.locust_python} has no Locust; `make load` installs it into .venv-bench")
    options.reports.mkdir(parents=True, exist_ok=True)
    load_before = machine.load_average()
    promised = thresholds.read(options.thresholds)
    try:
        with tempfile.TemporaryDirectory(prefix="sluice-load-") as folder, ExitStack() as stack:
            stage = Stage(Path(folder), options.reports, options.locust_python, options.seconds, say, stack)
            outcomes = _play(stage, options.scenarios)
    except KeyboardInterrupt:
        print("\nInterrupted. Everything that was started has ended.")
        return INTERRUPTED
    say(f"Locust's reports are in {options.reports}")
    judge = thresholds.Judge(figures(outcomes), list(outcomes), os.cpu_count() or 1)
    judged = judge.targets(promised)
    run = Run(options.seconds, (load_before, machine.load_average()))
    section = load_section(run, outcomes, judged, judge.told(promised))
    print(f"\n{section}\n")
    if list(options.scenarios) == list(SCENARIOS) and options.seconds >= SECONDS:  # no trial
        write_section("load", section)
        say("wrote its section of docs/performance.md")
    return 1 if any(not target.met for target in judged) else 0


def _play(stage: Stage, names: Sequence[str]) -> dict[str, Outcome]:
    say(f"{', '.join(names)}: each for {stage.seconds:g} s. Load average before: {machine.load_average():.1f}")
    outcomes = {}
    for name in names:
        say(f"{name}: {SCENARIOS[name].text}")
        outcomes[name] = stage.play(name, SCENARIOS[name])
        _tell(outcomes[name])
    outcomes = stage.peaked(outcomes)
    for name, outcome in outcomes.items():
        _tell_peak(name, outcome)
    return outcomes


def _tell(outcome: Outcome) -> None:
    found = outcome.found
    for name, counted in found.names.items():
        say(f"  {name}: {counted.requests:,} requests, p50 {counted.p50} ms, p99 {counted.p99} ms")
    if found.waiting:
        say(f"  {found.waiting:,} more labels were not yet due at the end")
    if outcome.counted.loads:
        say(f"  {outcome.counted.loads:,} times a tenant was loaded from the store")
    for error in found.errors:
        say(f"  failed: {error}")


def _tell_peak(name: str, outcome: Outcome) -> None:
    if outcome.peak and outcome.share_of_peak:
        lost = max(1.0 - outcome.share_of_peak, 0.0)
        say(f"  {name}: Locust {outcome.found.total.rate:,.0f} per second, wrk {outcome.peak.rate:,.0f};")
        say(f"  so {lost:.0%} of what the service can serve is lost in Locust's own slowness")


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


def say(text: str) -> None:
    print(f"[{time.monotonic() - STARTED:5.0f} s] {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
