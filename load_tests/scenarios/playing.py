"""Playing one scenario: a service of its own, Locust in a process of its own, and both counts."""

import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from load_tests.harness.client import run as done
from load_tests.harness.jobs import ClosedLoop, Request
from load_tests.harness.processes import Service, ended
from load_tests.scenarios import traffic
from load_tests.scenarios.catalogue import Scenario
from load_tests.scenarios.counting import counts, counts_since, miscounted, routes_of
from load_tests.scenarios.outcomes import Outcome
from load_tests.scenarios.peaking import ROUNDS, SECONDS, Peaking, peaks
from load_tests.scenarios.plans import Ask, Found, Plan

TAUGHT = 4000  # labels that the tenants have before they are asked
GRACE_SECONDS = 60.0


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
    stack: ExitStack  # ends the services that stay
    staying: dict[str, Peaking] = field(default_factory=dict)

    def play(self, name: str, scenario: Scenario) -> Outcome:
        """Start a service, teach its tenants, and let Locust ask. Where wrk asks, too, the service stays for that."""
        asks = scenario.asks(self.seconds)
        with ExitStack() as stack:
            service = stack.enter_context(ended(AllWorkers(self.folder / name, **scenario.settings).start()))
            service.is_ready()
            taught = traffic.teaching(asks, TAUGHT)
            self.say(f"  teaching its tenants {len(taught):,} labels")
            done(ClosedLoop(port=service.port, requests=_as_bytes(taught), connections=scenario.users))
            before = counts(service.port)
            self.say(f"  {scenario.users} of Locust's users ask for {self.seconds:g} s")
            found = self._swarm(name, scenario, service, asks)
            added = counts_since(service.port, before, asks, found)
            if scenario.has_peak:
                requests = [ask.http for ask in asks]
                self.staying[name] = Peaking(service, requests, scenario.users, scenario.is_confined)
                self.stack.push(stack.pop_all())
        return Outcome(found, added, miscounted(added, routes_of(asks), found))

    def peaked(self, outcomes: Mapping[str, Outcome]) -> dict[str, Outcome]:
        """The same outcomes with what wrk found, asking all services that stayed."""
        rounds = ROUNDS if self.seconds >= ROUNDS * SECONDS else 1
        free, confined = peaks(self.staying, rounds, self.say)
        return {
            name: replace(outcome, peak=free.get(name), confined=confined.get(name))
            for name, outcome in outcomes.items()
        }

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


def has_locust(python: str) -> bool:
    """Whether this Python has it."""
    found = subprocess.run([python, "-c", "import locust"], capture_output=True, check=False)  # noqa: S603 - as told
    return found.returncode == 0


def _as_bytes(asks: Sequence[Ask]) -> list[Request]:
    return [Request(ask.http) for ask in asks]
