"""The restarts and the failover under load, at shares of the run, whether it takes a minute or an hour.

Restarts go round the services, by SIGTERM and kill -9 in turn, so each service gets both. In the middle the store's
primary is killed. Nothing is disturbed at the end: what grows then, grows by itself.
"""

import asyncio
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

from load_tests.harness.processes import in_thread
from load_tests.harness.report import say
from load_tests.soak.client import Ledger
from load_tests.soak.deployment import HASTY_SECONDS, PATIENCE_SECONDS, PATIENT_SECONDS, SERVICES, Deployment, until
from load_tests.soak.memory import Watch

BEFORE, AFTER = (0.08, 0.42), (0.58, 0.70)  # the times of restarts, around the failover
FAILOVER = 0.50
COMEBACK = 0.54
GAP = 0.06
LEAST_GAP_SECONDS = 4.0  # about what a restart takes on a busy machine

STOP_SECONDS = 15.0  # docs/operations.md: "Give the service 15 s before a kill."
REPAIR_SECONDS = 5.0  # in which services find what a store has lost, and append it again; then the next may come
UNREPLICATED_LABELS = 20  # acknowledged by the old primary while its replica was cut off
UNREPLICATED_SECONDS = 3.0  # at most: Sentinel takes no replica that was cut off for long


class Action(StrEnum):
    """What can be done."""

    TERMINATE = "SIGTERM"
    KILL = "kill -9"
    FAILOVER = "failover"
    COMEBACK = "comeback"  # of the primary that was killed


@dataclass(frozen=True, slots=True)
class Step:
    """An action, and when; restarts also name the service."""

    at_seconds: float
    action: Action
    service: int = 0


def planned(seconds: float) -> list[Step]:
    gap, times = max(GAP * seconds, LEAST_GAP_SECONDS), []
    for first, last in (BEFORE, AFTER):
        at = first * seconds
        while at <= last * seconds + 1e-6:
            times.append(at)
            at += gap
    actions = (Action.TERMINATE, Action.KILL)
    restarts = [Step(at, actions[number % 2], number % SERVICES) for number, at in enumerate(times)]
    store = [Step(seconds * FAILOVER, Action.FAILOVER), Step(seconds * COMEBACK, Action.COMEBACK)]
    return sorted([*restarts, *store], key=lambda step: step.at_seconds)


@dataclass(frozen=True, slots=True)
class Disturbance:
    """An action, and how long it lasted: until a service was ready again, or labels were acknowledged again."""

    action: Action
    begin: float
    end: float
    clean: bool = True  # after SIGTERM, a service ends with 0, in time


async def disturb(step: Step, deployment: Deployment, ledger: Ledger, watch: Watch) -> Disturbance:
    begin = time.monotonic()
    if step.action is Action.FAILOVER:
        return await _fail_over(deployment, ledger)
    if step.action is Action.COMEBACK:  # Sentinel takes some seconds to make it a replica; that is checked at the end
        await in_thread(deployment.store.primary.start)
        say("the old primary is back; Sentinel is to make it a replica")
        return Disturbance(step.action, begin, time.monotonic())
    node, clean = deployment.nodes[step.service], step.action is Action.KILL
    say(f"{node.folder.name}: {step.action}")
    watch.end(node)
    if step.action is Action.TERMINATE:
        with suppress(subprocess.TimeoutExpired):
            ending = await in_thread(node.terminate)
            clean = ending.code == 0 and ending.seconds <= STOP_SECONDS
        say(f"{node.folder.name}: {'ended' if clean else 'did not end with 0 in time'}")
    node.kill()
    stopped = time.monotonic()
    await in_thread(node.start)
    watch.begin(node)
    say(f"{node.folder.name}: ready again after {time.monotonic() - stopped:.1f} s")
    return Disturbance(step.action, begin, time.monotonic(), clean)


async def _fail_over(deployment: Deployment, ledger: Ledger) -> Disturbance:
    """Kill the primary when its replica lags behind: the new primary lacks labels that were acknowledged."""
    store, goal = deployment.store, len(ledger.acknowledged) + UNREPLICATED_LABELS
    say("the replica of the store is cut off")
    store.replica.freeze()
    try:
        store.primary.ask("CLIENT", "KILL", "TYPE", "replica")  # else it would find all in its connection's buffer
        await until(lambda: len(ledger.acknowledged) >= goal, UNREPLICATED_SECONDS)
        begin = time.monotonic()
        say("the primary of the store: kill -9")
        store.kill_primary()
    finally:
        store.replica.thaw()
    deployment.set_sentinel_patience(HASTY_SECONDS)
    await until(
        lambda: store.known_port() == store.replica.port and store.replica.ask("ROLE")[0] == b"master",
        PATIENCE_SECONDS,
        "Sentinel does not promote the replica",
    )
    deployment.primary = store.replica
    deployment.set_sentinel_patience(PATIENT_SECONDS)
    say(f"Sentinel: the replica is the primary, after {time.monotonic() - begin:.1f} s")
    before = len(ledger.acknowledged)
    await until(lambda: len(ledger.acknowledged) > before, PATIENCE_SECONDS, "no label is acknowledged any more")
    end = time.monotonic()
    say(f"labels are acknowledged again, {end - begin:.1f} s after the kill")
    await asyncio.sleep(REPAIR_SECONDS)  # a service that dies now would take with it what only it knows
    return Disturbance(Action.FAILOVER, begin, end)
