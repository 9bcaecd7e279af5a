"""A service of its own for each scenario; Locust in a process of its own; then peak rates by wrk, in turns."""

import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

import msgspec

from load_tests.harness.client import run
from load_tests.harness.jobs import ClosedLoop, Request
from load_tests.harness.processes import Service, ended
from load_tests.harness.report import say
from load_tests.harness.shares import NoShares, held, workers_of
from load_tests.harness.wrk import Peak, installed, wrk
from load_tests.scenarios.counts import LOADS, counts, counts_since
from load_tests.scenarios.plans import Found, Plan
from load_tests.scenarios.results import Outcome
from load_tests.scenarios.traffic import Scenario, teaching

TAUGHT = 4000  # labels that the tenants have before the run
GRACE_SECONDS = 60.0
PEAK_SECONDS = 2.0
PEAK_ROUNDS = 5
CONFINED_CORES = 0.4  # two workers, their store and wrk then have room on two cores


@dataclass(frozen=True, slots=True)
class Kept:
    """A service that stays for wrk, and what wrk sends to it."""

    service: Service
    requests: Sequence[bytes]
    connections: int
    is_confined: bool  # whether it also runs with a part of a core for each of its workers


@dataclass(frozen=True, slots=True)
class Stage:
    """Where scenarios are played, and for how long."""

    folder: Path  # temporary
    reports: Path
    locust_python: str  # of the environment with Locust
    seconds: float
    stack: ExitStack  # ends the services that stay
    kept: dict[str, Kept] = field(default_factory=dict)

    def play(self, name: str, scenario: Scenario) -> Outcome:
        """Start a service, teach its tenants, and run Locust. A service with a peak rate stays for wrk."""
        asks = scenario.asks(self.seconds)
        with ExitStack() as stack:
            service = stack.enter_context(ended(Service(self.folder / name, **scenario.settings).start()))
            service.is_ready()
            taught = [Request(ask.http) for ask in teaching(asks, TAUGHT)]
            say(f"  teaching its tenants {len(taught):,} labels")
            run(ClosedLoop(port=service.port, requests=taught, connections=scenario.users))
            before = counts(service.port)
            say(f"  {scenario.users} users of Locust for {self.seconds:g} s")
            report = str(self.reports / f"{name}.html")
            plan = Plan(port=service.port, asks=asks, users=scenario.users, seconds=self.seconds, report=report)
            found = self._swarm(plan)
            added, miscounted = counts_since(service.port, before, asks, found)
            if scenario.has_peak:
                requests = [ask.http for ask in asks]
                self.kept[name] = Kept(service, requests, scenario.users, scenario.is_confined)
                self.stack.push(stack.pop_all())
        return Outcome(found, added[LOADS], miscounted)

    def _swarm(self, plan: Plan) -> Found:
        answer = subprocess.run(  # noqa: S603 - our own module
            [self.locust_python, "-m", "load_tests.scenarios.swarm"],
            input=msgspec.msgpack.encode(plan),
            stdout=subprocess.PIPE,
            check=True,
            timeout=self.seconds + GRACE_SECONDS,
            start_new_session=True,  # Ctrl-C goes to the benchmark, which then kills it
        )
        return msgspec.msgpack.decode(answer.stdout, type=Found)

    def with_peaks(self, outcomes: Mapping[str, Outcome]) -> dict[str, Outcome]:
        """The same outcomes with the peak rates of the services that stayed."""
        rounds = PEAK_ROUNDS if self.seconds >= PEAK_ROUNDS * PEAK_SECONDS else 1
        free, confined = peaks(self.kept, rounds)
        return {
            name: replace(outcome, wrk=free.get(name), wrk_confined=confined.get(name))
            for name, outcome in outcomes.items()
        }


def peaks(services: Mapping[str, Kept], rounds: int) -> tuple[dict[str, Peak], dict[str, Peak]]:
    """Peak rates of all, and of some with a part of a core for each worker; none without wrk or control groups."""
    if not services:
        return {}, {}
    if not installed():
        say("wrk is not installed: no peak rates")
        return {}, {}
    say(f"wrk sends the same, {rounds} times for {PEAK_SECONDS:g} s in turns: {', '.join(services)}")
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


def _in_turns(services: Mapping[str, Kept], rounds: int) -> dict[str, Peak]:
    found: dict[str, list[Peak]] = {name: [] for name in services}
    for _ in range(rounds):
        for name, each in services.items():
            found[name].append(wrk(each.service.port, each.requests, each.connections, PEAK_SECONDS))
    return {name: middle(some) for name, some in found.items()}


def middle(rounds: Sequence[Peak]) -> Peak:
    """The median of each figure, and the failures of all rounds."""
    rate, p50, p99, cores = (median(getattr(each, name) for each in rounds) for name in ("rate", "p50", "p99", "cores"))
    return Peak(rate, p50, p99, sum(each.bad for each in rounds), cores)
