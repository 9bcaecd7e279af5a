"""Torture two services and their store with random faults from a seed, and check everything that was promised."""

import argparse
import asyncio
import secrets
import shutil
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from load_tests.harness.processes import in_thread, until_signal, workspace
from load_tests.harness.report import say
from load_tests.torture import observation, report
from load_tests.torture.administration import Administration
from load_tests.torture.checker import check
from load_tests.torture.client import Client
from load_tests.torture.corrections import Corrections
from load_tests.torture.deployment import Deployment, deployed
from load_tests.torture.faults import Faults
from load_tests.torture.history import Found, History, Violation
from load_tests.torture.memory import Memory
from load_tests.torture.reviewers import Reviewers
from load_tests.torture.schedule import Durability, plan
from load_tests.torture.workload import Workload

SECONDS, LEAST_SECONDS, MOST_SECONDS = 600.0, 10.0, 86_400.0
PATIENCE_SECONDS = 120.0
KEPT = Path(__file__).parents[2] / "build" / "torture"
TRACEBACK = "Traceback (most recent call last)"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="load_tests.torture", description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"of faults ({SECONDS:g})")
    parser.add_argument("--seed", type=int, help="of the schedule; random if it is not given")
    parser.add_argument("--durability", type=Durability, choices=list(Durability), default=Durability.LOCAL)
    parser.add_argument("--keep", type=Path, default=KEPT, help="the folder for history and logs of a failed run")
    parser.add_argument("--plan", action="store_true", help="only print the schedule")
    options = parser.parse_args(arguments)
    if not LEAST_SECONDS <= options.seconds <= MOST_SECONDS:
        parser.error(f"--seconds {options.seconds:g} is not from {LEAST_SECONDS:g} to {MOST_SECONDS:g}")
    seed = secrets.randbelow(10**6) if options.seed is None else options.seed
    if options.plan:
        print(*plan(seed, options.seconds, options.durability), sep="\n")
        return 0
    name = f"SECONDS={options.seconds:g} SEED={seed} DURABILITY={options.durability}"
    say(f"make torture {name}")
    with workspace("torture") as folder:
        history = History(folder / "history.jsonl")
        violations = asyncio.run(until_signal(run(folder, history, options.seconds, seed, options.durability)))
        history.close()
        print(report.details(history, violations))
        print(f"\nmake torture {name}", report.summary(history, violations), sep="\n")
        if violations:
            _keep(folder, options.keep / f"seed-{seed}", history, violations)
    return int(bool(violations))


async def run(folder: Path, history: History, seconds: float, seed: int, durability: Durability) -> list[Violation]:
    say("starting a primary, its replica, proxies, and two services")
    async with deployed(folder, durability) as deployment:
        if not deployment.store_has_clock:
            say("libfaketime is not installed: the store's clock does not jump (apt install libfaketime)")
        client = Client(deployment, history)
        workload = Workload(client, seed)
        administration, corrections = Administration(workload, seed), Corrections(workload, seed)
        await asyncio.wait_for(workload.teach(), PATIENCE_SECONDS)
        reviewers = Reviewers(workload, seed)
        await administration.prepare()
        await reviewers.prepare()
        faults = Faults(deployment, history, workload.evict)
        memory = Memory(deployment, lambda: _progress(history, client, faults))
        steps = plan(seed, seconds, durability)
        all_clients = (workload, administration, corrections, reviewers)
        history.began = began = time.monotonic()
        say(f"{len(steps)} faults in {seconds:g} s")
        async with asyncio.TaskGroup() as tasks:
            samples = tasks.create_task(memory.run())
            working = [tasks.create_task(clients.run()) for clients in all_clients]
            await faults.run(steps, began)
            await asyncio.sleep(began + seconds - time.monotonic())
            say("all faults are healed; every client ends when its request is acknowledged")
            workload.enough.set()
            await asyncio.wait(working)
            samples.cancel()
        await client.close()
        found = await in_thread(_look, deployment, history, administration, reviewers)
        found.flaws += [*faults.failures, *memory.exceeded(), *_tracebacks(deployment)]
        return check(history, found)


def _look(deployment: Deployment, history: History, administration: Administration, reviewers: Reviewers) -> Found:
    say("reading the logs, replaying them, and comparing every worker and a fresh service")
    tenants = {operation.tenant for operation in history.operations if operation.tenant}
    queues, unlabelled = observation.reviewed(deployment, reviewers.predicted)
    found = observation.observe(deployment, tenants, administration.secrets)
    found.queues, found.unlabelled = queues, unlabelled
    found.flaws += observation.end(deployment)
    return found


def _progress(history: History, client: Client, faults: Faults) -> str:
    active = ", ".join(faults.active.values()) or "no fault"
    statuses = ", ".join(f"{number:,} x {status or 'no answer'}" for status, number in client.statuses.most_common())
    return f"{active}; {len(history.operations):,} operations; {statuses}"


def _tracebacks(deployment: Deployment) -> list[str]:
    texts = {node.folder.name: node.whole_log() for node in deployment.nodes}
    return [
        f"{text.count(TRACEBACK)} tracebacks in the log of {name}" for name, text in texts.items() if TRACEBACK in text
    ]


def _keep(folder: Path, kept: Path, history: History, violations: list[Violation]) -> None:
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir(parents=True)
    for path in [folder / "history.jsonl", *folder.glob("*/*.log")]:
        with suppress(OSError):
            shutil.copy(path, kept / str(path.relative_to(folder)).replace("/", "-").replace(" ", "-"))
    report.write(kept, history, violations)


if __name__ == "__main__":
    sys.exit(main())
