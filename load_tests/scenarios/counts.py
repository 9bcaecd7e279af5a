"""What the service itself has counted, beside what Locust has: no request may be lost between the two."""

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families

from load_tests.harness.client import call
from load_tests.scenarios.plans import FEEDBACK, FEEDBACK_ROUTE, Ask, Found

REQUESTS = "sluice_http_requests_total"
TOTALS = ("sluice_predictions_total", "sluice_labels_total", "sluice_tenant_loads_total")
PATIENCE_SECONDS = 5.0  # the service counts an answer once it has been handed over, maybe just after it was read
LOOK_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Counts:
    """Totals of all workers since the service started."""

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
    """The counts now."""
    return counts_in(call(port, "GET", "/metrics").decode())


def counts_in(text: str) -> Counts:
    """The counts in the text of /metrics."""
    requests: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == REQUESTS:
                requests[sample.labels["route"]] += int(sample.value)
            elif sample.name in TOTALS:
                totals[sample.name] += int(sample.value)
    return Counts(requests, *(totals[name] for name in TOTALS))


def counts_since(port: int, before: Counts, asks: Iterable[Ask], found: Found) -> tuple[Counts, int]:
    """What was added, and by how much it differs from Locust's count; read again for a while if it does."""
    routes = {FEEDBACK: FEEDBACK_ROUTE} | {ask.name: ask.route for ask in asks}
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (wrong := miscounted(added := counts(port).since(before), routes, found)) and time.monotonic() < deadline:
        time.sleep(LOOK_SECONDS)
    return added, wrong


def miscounted(added: Counts, routes: dict[str, str], found: Found) -> int:
    """By how many requests, verdicts and labels the two differ in all; `routes` are those of Locust's names."""
    asked: Counter[str] = Counter()
    for name, counted in found.names.items():
        asked[routes[name]] += counted.requests
    requests = sum(abs(asked[route] - added.requests[route]) for route in set(routes.values()))
    return requests + abs(found.verdicts - added.verdicts) + abs(found.labels - added.labels)
