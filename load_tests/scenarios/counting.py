"""What the service itself has counted, beside what Locust has: no request may be lost between the two."""

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from load_tests.harness.client import call as ask_well
from load_tests.scenarios.plans import FEEDBACK, FEEDBACK_ROUTE, Ask, Found

PATIENCE_SECONDS = 5.0  # an answer is counted when it has been handed over, which may be just after it was read
LOOK_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Counts:
    """Since the service began, by all its workers."""

    requests: Counter[str]  # by route
    verdicts: int
    labels: int
    loads: int  # of tenants, from the store

    def since(self, before: "Counts") -> "Counts":
        """What was added."""
        return Counts(
            self.requests - before.requests,
            self.verdicts - before.verdicts,
            self.labels - before.labels,
            self.loads - before.loads,
        )


def counts(port: int) -> Counts:
    """Now."""
    return counts_in(ask_well(port, "GET", "/metrics").decode())


def counts_in(text: str) -> Counts:
    """Of the text of /metrics."""
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    requests: Counter[str] = Counter()
    for sample in _named(samples, "sluice_http_requests_total"):
        requests[sample.labels["route"]] += int(sample.value)
    totals = (
        sum(int(sample.value) for sample in _named(samples, name))
        for name in ("sluice_predictions_total", "sluice_labels_total", "sluice_tenant_loads_total")
    )
    return Counts(requests, *totals)


def counts_since(port: int, before: Counts, asks: Iterable[Ask], found: Found) -> Counts:
    """What was added; looked at again for a while as long as the two differ."""
    routes = routes_of(asks)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while miscounted(added := counts(port).since(before), routes, found) and time.monotonic() < deadline:
        time.sleep(LOOK_SECONDS)
    return added


def routes_of(asks: Iterable[Ask]) -> dict[str, str]:
    """The route behind each name in Locust's statistics."""
    return {FEEDBACK: FEEDBACK_ROUTE} | {ask.name: ask.route for ask in asks}


def miscounted(added: Counts, routes: dict[str, str], found: Found) -> int:
    """By how many requests, verdicts and labels the two differ, all together."""
    asked: Counter[str] = Counter()
    for name, counted in found.names.items():
        asked[routes[name]] += counted.requests
    requests = sum(abs(asked[route] - added.requests[route]) for route in set(routes.values()))
    return requests + abs(found.verdicts - added.verdicts) + abs(found.labels - added.labels)


def _named(samples: list[Sample], name: str) -> list[Sample]:
    return [sample for sample in samples if sample.name == name]
