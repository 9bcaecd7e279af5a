"""Peak rates by wrk: what is compared takes turns, since a machine is not always equally fast."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median

from load_tests.harness.processes import Service
from load_tests.harness.shares import NoShares, held, workers_of
from load_tests.harness.wrk import Peak, installed, wrk

SECONDS = 2.0
ROUNDS = 5
CONFINED_CORES = 0.4  # two workers, their store and wrk then have room on two cores

Peaks = dict[str, Peak]


@dataclass(frozen=True, slots=True)
class Peaking:
    """A service that runs, and what wrk shall ask it."""

    service: Service
    requests: Sequence[bytes]
    connections: int
    is_confined: bool  # whether it is also asked with a part of a core for each of its workers


def peaks(services: Mapping[str, Peaking], rounds: int, say: Callable[[str], None]) -> tuple[Peaks, Peaks]:
    """Of every service, and of some with a part of a core for each worker; none where those cannot be had."""
    if not services:
        return {}, {}
    if not installed():
        say("wrk is not installed: no peak rates")
        return {}, {}
    say(f"wrk asks the same, {rounds} times for {SECONDS:g} s in turns: {', '.join(services)}")
    free = _in_turns(services, rounds)
    confined = {name: each for name, each in services.items() if each.is_confined}
    try:
        with ExitStack() as stack:
            for each in confined.values():
                stack.enter_context(held(workers_of(each.service.pid), CONFINED_CORES))
            say(f"and with {CONFINED_CORES:g} of a core for each worker: {', '.join(confined)}")
            return free, _in_turns(confined, rounds)
    except NoShares as error:
        say(str(error))
        return free, {}


def _in_turns(services: Mapping[str, Peaking], rounds: int) -> Peaks:
    found: dict[str, list[Peak]] = {name: [] for name in services}
    for _ in range(rounds):
        for name, each in services.items():
            found[name].append(wrk(each.service.port, each.requests, each.connections, SECONDS))
    return {name: middle(some) for name, some in found.items()}


def middle(rounds: Sequence[Peak]) -> Peak:
    """The median of each figure; what went wrong counts in all rounds."""
    return Peak(
        rate=median(each.rate for each in rounds),
        p50=median(each.p50 for each in rounds),
        p99=median(each.p99 for each in rounds),
        bad=sum(each.bad for each in rounds),
        cores=median(each.cores for each in rounds),
    )
