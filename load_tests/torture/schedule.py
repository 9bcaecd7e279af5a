"""The faults of a run: a function of the seed and its length alone.

Three lanes run side by side: the store, the processes of the services, and the network. So faults meet each other.
What must not meet is kept apart while they run (`faults.py`): a promise holds only under its own conditions.
"""

import random
from dataclasses import dataclass
from enum import StrEnum

SERVICES = 2
QUIET_START_SECONDS = 3.0
QUIET_END_SECONDS = 4.0
EXTENT_SECONDS = (0.5, 5.0)  # of a fault that lasts
JUMPS_SECONDS = (-3600, -90, -5, 5, 90, 3600)  # of a clock


class Durability(StrEnum):
    """SLUICE_DURABILITY; LOCAL is the default and sets nothing."""

    LOCAL = "local"
    REPLICATED = "replicated"


class Lane(StrEnum):
    """Faults of one lane follow each other."""

    STORE = "store"
    SERVICE = "service"
    NETWORK = "network"


class Fault(StrEnum):
    """What can go wrong."""

    KILL_STORE = "kill -9 of the store"
    STOP_STORE = "SIGSTOP of the store"
    FULL_DISK = "full disk of the store"
    FAILOVER = "failover to a replica that is behind"
    DEATH_TOGETHER = "failover, with all services killed"
    STORE_CLOCK = "clock jump of the store"
    KILL_WORKER = "kill -9 of a worker"
    KILL_SERVICE = "kill -9 of a service"
    STOP_WORKER = "SIGSTOP of a worker"
    STOP_SERVICE = "SIGSTOP of a service"
    RESTART_SERVICE = "SIGTERM of a service"
    EVICTION = "eviction from memory"
    SERVICE_CLOCK = "clock jump of a service"
    RESETS = "resets"
    DELAYS = "delays"
    HALF_REPLIES = "half-written replies"
    HALF_REQUESTS = "half-written commands"


FAILOVERS = frozenset({Fault.FAILOVER, Fault.DEATH_TOGETHER})

# By lane: each fault with its weight, and the mean pause between two faults.
WEIGHTS: dict[Lane, dict[Fault, int]] = {
    Lane.STORE: {
        Fault.KILL_STORE: 3,
        Fault.STOP_STORE: 3,
        Fault.FAILOVER: 4,
        Fault.FULL_DISK: 2,
        Fault.STORE_CLOCK: 1,
    },
    Lane.SERVICE: {
        Fault.KILL_WORKER: 3,
        Fault.KILL_SERVICE: 3,
        Fault.STOP_WORKER: 3,
        Fault.STOP_SERVICE: 2,
        Fault.RESTART_SERVICE: 2,
        Fault.EVICTION: 5,
        Fault.SERVICE_CLOCK: 2,
    },
    Lane.NETWORK: {Fault.RESETS: 3, Fault.DELAYS: 2, Fault.HALF_REPLIES: 2, Fault.HALF_REQUESTS: 2},
}
PAUSE_SECONDS = {Lane.STORE: 7.0, Lane.SERVICE: 4.0, Lane.NETWORK: 3.0}


@dataclass(frozen=True, slots=True)
class Step:
    """A fault, when it is due, and how much of it."""

    at_seconds: float
    lane: Lane
    fault: Fault
    service: int  # the service or link; of no meaning for the store
    seconds: float
    amount: int  # of a clock jump in seconds, or how many pieces are cut

    def __str__(self) -> str:
        return f"{self.at_seconds:6.1f} s  {self.fault}"


def plan(seed: int, seconds: float, durability: Durability) -> list[Step]:
    """All steps in order. The same arguments give the same steps."""
    steps = [step for lane in Lane for step in _lane(lane, f"{seed}/{lane}", seconds, durability)]
    return sorted(steps, key=lambda step: step.at_seconds)


def _lane(lane: Lane, seed: str, seconds: float, durability: Durability) -> list[Step]:
    dice, weights, steps = random.Random(seed), dict(WEIGHTS[lane]), []  # noqa: S311 - a schedule is no secret
    if lane is Lane.STORE and durability is Durability.REPLICATED:
        weights[Fault.DEATH_TOGETHER] = weights[Fault.FAILOVER]
    at = QUIET_START_SECONDS
    while (at := at + dice.expovariate(1 / PAUSE_SECONDS[lane])) < seconds - QUIET_END_SECONDS:
        (fault,) = dice.choices(list(weights), list(weights.values()))
        length = dice.uniform(*EXTENT_SECONDS)
        amount = dice.choice(JUMPS_SECONDS) if "clock" in fault else dice.randrange(1, 8)
        steps.append(Step(at, lane, fault, dice.randrange(SERVICES), length, amount))
        at += length
    return steps
