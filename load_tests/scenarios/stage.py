"""A service of its own for each scenario; Locust in a process of its own; then peak rates by wrk, in turns."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from prometheus_client.parser import text_string_to_metric_families

from load_tests.harness.client import call, run, run_module
from load_tests.harness.jobs import ClosedLoop, Request
from load_tests.harness.processes import Service
from load_tests.harness.report import say
from load_tests.harness.shares import NoShares, held, workers_of
from load_tests.harness.wrk import Peak, installed, wrk
from load_tests.scenarios.plans import FEEDBACK, FEEDBACK_ROUTE, Ask, Found, Plan
from load_tests.scenarios.results import Figures, figures
from load_tests.scenarios.traffic import SCENARIOS, teaching

TAUGHT = 4000  # labels that the tenants have before the run
GRACE_SECONDS = 60.0
PEAK_SECONDS = 2.0
PEAK_ROUNDS = 5
CONFINED_CORES = 0.4  # two workers, their store and wrk then have room on two cores

VERDICTS, LABELS, LOADS = "sluice_predictions_total", "sluice_labels_total", "sluice_tenant_loads_total"
REQUESTS = "sluice_http_requests_total"  # counted by route
PATIENCE_SECONDS = 5.0  # the service counts an answer once it has been handed over, maybe just after it was read
LOOK_SECONDS = 0.1

Counts = Counter[str]  # by name or route, of all workers since the service started


@dataclass(frozen=True, slots=True)
class Stage:
    """Where scenarios are played, and for how long."""

    folder: Path  # temporary
    reports: Path
    locust_python: str  # of the environment with Locust
    seconds: float
    stack: ExitStack  # ends the services that stay
    kept: dict[str, tuple[Service, list[bytes]]] = field(default_factory=dict)  # those for wrk, and what it sends

    def play(self, name: str) -> Figures:
        scenario = SCENARIOS[name]
        asks = scenario.asks(self.seconds)
        say(f"{name}: {scenario.text}")
        with ExitStack() as stack:
            service = stack.enter_context(Service(self.folder / name, **scenario.settings).running())
            taught = [Request(ask.http) for ask in teaching(asks, TAUGHT)]
            say(f"  teaching its tenants {len(taught):,} labels")
            run(ClosedLoop(port=service.port, requests=taught, connections=scenario.users))
            before = _counts(service.port)
            say(f"  {scenario.users} users of Locust for {self.seconds:g} s")
            report = str(self.reports / f"{name}.html")
            plan = Plan(port=service.port, asks=asks, users=scenario.users, seconds=self.seconds, report=report)
            grace = self.seconds + GRACE_SECONDS
            found = run_module("load_tests.scenarios.swarm", plan, Found, grace, self.locust_python)
            added, wrong = _counts_since(service.port, before, asks, found)
            if scenario.has_peak:
                self.kept[name] = service, [ask.http for ask in asks]
                self.stack.push(stack.pop_all())
        for each, counted in found.names.items():
            say(f"  {each}: {counted.requests:,} requests, p50 {counted.p50} ms, p99 {counted.p99} ms")
        say(f"  {found.waiting:,} labels not yet due, {added[LOADS]:,} loads of tenants")
        for error in found.errors:
            say(f"  failed: {error}")
        return figures(found, added[LOADS], wrong)

    def peaks(self) -> dict[str, Figures]:
        """Peak rates of the services that stayed, also with a part of a core for each worker of some."""
        if not self.kept:
            return {}
        if not installed():
            say("wrk is not installed: no peak rates")
            return {}
        rounds = PEAK_ROUNDS if self.seconds >= PEAK_ROUNDS * PEAK_SECONDS else 1
        say(f"wrk sends the same, {rounds} times for {PEAK_SECONDS:g} s in turns: {', '.join(self.kept)}")
        found: dict[str, Figures] = {
            name: {
                "peak": median(peak.rate for peak in peaks),
                "peak_bad": sum(peak.bad for peak in peaks),
                "peak_cores": median(peak.cores for peak in peaks),
            }
            for name, peaks in self._in_turns([*self.kept], rounds).items()
        }
        confined = [name for name in self.kept if SCENARIOS[name].is_confined]
        try:
            with ExitStack() as stack:
                for name in confined:
                    stack.enter_context(held(workers_of(self.kept[name][0].pid), CONFINED_CORES))
                say(f"and with {CONFINED_CORES:g} of a core for each worker: {', '.join(confined)}")
                for name, peaks in self._in_turns(confined, rounds).items():
                    found[name]["confined"] = median(peak.rate for peak in peaks)
        except NoShares as error:
            say(str(error))
        return found

    def _in_turns(self, names: Sequence[str], rounds: int) -> Mapping[str, list[Peak]]:
        found: dict[str, list[Peak]] = {name: [] for name in names}
        for _ in range(rounds):
            for name in names:
                service, requests = self.kept[name]
                found[name].append(wrk(service.port, requests, SCENARIOS[name].users, PEAK_SECONDS))
        return found


def _counts(port: int) -> Counts:
    """What the service itself has counted: no request may be lost between its count and Locust's."""
    return parse_counts(call(port, "GET", "/metrics").decode())


def parse_counts(text: str) -> Counts:
    found: Counts = Counter()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name in {REQUESTS, VERDICTS, LABELS, LOADS}:
                name = sample.labels["route"] if sample.name == REQUESTS else sample.name
                found[name] += int(sample.value)
    return found


def _counts_since(port: int, before: Counts, asks: Iterable[Ask], found: Found) -> tuple[Counts, int]:
    """What was added, and by how much it differs from Locust's count; read again for a while if it does."""
    routes = {FEEDBACK: FEEDBACK_ROUTE} | {ask.name: ask.route for ask in asks}
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (wrong := miscounted(added := _counts(port) - before, routes, found)) and time.monotonic() < deadline:
        time.sleep(LOOK_SECONDS)
    return added, wrong


def miscounted(added: Counts, routes: dict[str, str], found: Found) -> int:
    """By how many requests, verdicts and labels the two differ in all; `routes` are those of Locust's names."""
    expected = Counter({VERDICTS: found.verdicts, LABELS: found.labels})
    for name, counted in found.names.items():
        expected[routes[name]] += counted.requests
    return sum(abs(expected[name] - added[name]) for name in {VERDICTS, LABELS, *routes.values()})
