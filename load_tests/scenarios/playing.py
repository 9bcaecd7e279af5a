"""Playing one scenario: a service of its own, Locust in a process of its own, and both counts."""

import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from load_tests.scenarios import traffic
from load_tests.scenarios.catalogue import Scenario
from load_tests.scenarios.counting import counts, counts_since, miscounted, routes_of
from load_tests.scenarios.outcomes import Outcome
from load_tests.scenarios.plans import Ask, Found, Plan
from load_tests.service.client import done
from load_tests.service.jobs import ClosedLoop, Request
from load_tests.service.processes import Service, ended
from load_tests.shares import NoShares, held, workers_of
from load_tests.wrk import Peak, installed, wrk

TAUGHT = 4000  # labels that the tenants have before they are asked
GRACE_SECONDS = 60.0
PEAK_SECONDS = 5.0
CONFINED_CORES = 0.4  # two workers, their store and wrk then have room on two cores


class AllWorkers(Service):
    """A service whose workers end with it at once: they are of its process group."""

    def end(self) -> None:
        """Kill all of them, and the embedded server."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        super().end()


@dataclass(frozen=True, slots=True)
class Stage:
    """Where scenarios are played, and for how long."""

    folder: Path  # for what is thrown away
    reports: Path
    locust_python: str  # of the environment that Locust is installed in
    seconds: float
    say: Callable[[str], None]

    def play(self, name: str, scenario: Scenario) -> Outcome:
        """Start a service, teach its tenants, and let Locust ask."""
        asks = scenario.asks(self.seconds)
        with ended(AllWorkers(self.folder / name, **scenario.settings).start()) as service:
            service.is_ready()
            taught = traffic.teaching(asks, TAUGHT)
            self.say(f"  teaching its tenants {len(taught):,} labels")
            done(ClosedLoop(port=service.port, requests=_as_bytes(taught), connections=scenario.users))
            before = counts(service.port)
            self.say(f"  {scenario.users} of Locust's users ask for {self.seconds:g} s")
            found = self._swarm(name, scenario, service, asks)
            added = counts_since(service.port, before, asks, found)
            peak = self._peak(service, scenario, asks) if scenario.has_peak else None
            confined = self._confined(service, scenario, asks) if peak and scenario.is_confined else None
        return Outcome(found, added, miscounted(added, routes_of(asks), found), peak, confined)

    def _swarm(self, name: str, scenario: Scenario, service: Service, asks: list[Ask]) -> Found:
        report = self.reports / f"{name}.html"
        plan = Plan(port=service.port, asks=asks, users=scenario.users, seconds=self.seconds, report=str(report))
        answer = subprocess.run(  # noqa: S603 - our own module
            [self.locust_python, "-m", "load_tests.scenarios.swarm"],
            input=msgspec.msgpack.encode(plan),
            stdout=subprocess.PIPE,
            check=True,
            timeout=self.seconds + GRACE_SECONDS,
            start_new_session=True,  # a Ctrl-C is for the benchmark, which then kills it
        )
        return msgspec.msgpack.decode(answer.stdout, type=Found)

    def _peak(self, service: Service, scenario: Scenario, asks: Sequence[Ask]) -> Peak | None:
        """The same requests, asked by a client of low overhead over as many connections; None if there is none."""
        if not installed():
            self.say("  wrk is not installed: no peak rate")
            return None
        seconds = min(PEAK_SECONDS, self.seconds)
        self.say(f"  wrk asks the same for {seconds:g} s")
        return wrk(service.port, [ask.http for ask in asks], scenario.users, seconds)

    def _confined(self, service: Service, scenario: Scenario, asks: Sequence[Ask]) -> Peak | None:
        """The same while each worker has only a part of a core, so that client and store do not take theirs."""
        workers = workers_of(service.pid)
        try:
            with held(workers, CONFINED_CORES):
                self.say(f"  and again, with {CONFINED_CORES:g} of a core for each of {len(workers)} workers")
                return wrk(service.port, [ask.http for ask in asks], scenario.users, min(PEAK_SECONDS, self.seconds))
        except NoShares as error:
            self.say(f"  {error}")
            return None


def has_locust(python: str) -> bool:
    """Whether this Python has it."""
    found = subprocess.run([python, "-c", "import locust"], capture_output=True, check=False)  # noqa: S603 - as told
    return found.returncode == 0


def _as_bytes(asks: Sequence[Ask]) -> list[Request]:
    return [Request(ask.http) for ask in asks]
