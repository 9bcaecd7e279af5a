"""When what is done to the deployment, as shares of the run: the same course whether it takes a minute or an hour.

Restarts go round the services, by SIGTERM and kill -9 in turns, so each service meets both. In the middle the
store's primary is killed. Nothing is disturbed at the end: what grows then, grows by itself.
"""

from dataclasses import dataclass
from enum import StrEnum
from itertools import count

SERVICES = 3
BEFORE, AFTER = (0.08, 0.42), (0.58, 0.70)  # the times of restarts, around the failover
FAILOVER = 0.50
COMEBACK = 0.54
GAP = 0.06
LEAST_GAP_SECONDS = 4.0  # about what a restart takes on a busy machine


class Deed(StrEnum):
    """What can be done."""

    TERMINATE = "SIGTERM"
    KILL = "kill -9"
    FAILOVER = "failover"
    COMEBACK = "comeback"  # of the primary that was killed


@dataclass(frozen=True, slots=True)
class Step:
    """A deed, and when; restarts also say which service."""

    at_seconds: float
    deed: Deed
    service: int = 0


def planned(seconds: float) -> list[Step]:
    """Everything that happens in a run of this length, in order."""
    before, after = (_restart_times(seconds, *share) for share in (BEFORE, AFTER))
    restarts = [
        Step(at, Deed.KILL if number % 2 else Deed.TERMINATE, number % SERVICES)
        for number, at in enumerate(before + after)
    ]
    store = [Step(seconds * FAILOVER, Deed.FAILOVER), Step(seconds * COMEBACK, Deed.COMEBACK)]
    return sorted([*restarts, *store], key=lambda step: step.at_seconds)


def _restart_times(seconds: float, first: float, last: float) -> list[float]:
    gap = max(GAP * seconds, LEAST_GAP_SECONDS)
    times = (first * seconds + gap * number for number in count())
    found = []
    while (at := next(times)) <= last * seconds + 1e-6:
        found.append(at)
    return found
