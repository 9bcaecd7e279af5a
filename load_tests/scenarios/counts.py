"""What the service itself has counted, beside what Locust has: no request may be lost between the two."""

import time
from collections import Counter
from collections.abc import Iterable

from prometheus_client.parser import text_string_to_metric_families

from load_tests.harness.client import call
from load_tests.scenarios.plans import FEEDBACK, FEEDBACK_ROUTE, Ask, Found

VERDICTS, LABELS, LOADS = "sluice_predictions_total", "sluice_labels_total", "sluice_tenant_loads_total"
REQUESTS = "sluice_http_requests_total"  # counted by route
PATIENCE_SECONDS = 5.0  # the service counts an answer once it has been handed over, maybe just after it was read
LOOK_SECONDS = 0.1

Counts = Counter[str]  # by name or route, of all workers since the service started


def counts(port: int) -> Counts:
    """The counts now."""
    return counts_in(call(port, "GET", "/metrics").decode())


def counts_in(text: str) -> Counts:
    """The counts in the text of /metrics."""
    found: Counts = Counter()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name in {REQUESTS, VERDICTS, LABELS, LOADS}:
                name = sample.labels["route"] if sample.name == REQUESTS else sample.name
                found[name] += int(sample.value)
    return found


def counts_since(port: int, before: Counts, asks: Iterable[Ask], found: Found) -> tuple[Counts, int]:
    """What was added, and by how much it differs from Locust's count; read again for a while if it does."""
    routes = {FEEDBACK: FEEDBACK_ROUTE} | {ask.name: ask.route for ask in asks}
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (wrong := miscounted(added := counts(port) - before, routes, found)) and time.monotonic() < deadline:
        time.sleep(LOOK_SECONDS)
    return added, wrong


def miscounted(added: Counts, routes: dict[str, str], found: Found) -> int:
    """By how many requests, verdicts and labels the two differ in all; `routes` are those of Locust's names."""
    expected = Counter({VERDICTS: found.verdicts, LABELS: found.labels})
    for name, counted in found.names.items():
        expected[routes[name]] += counted.requests
    return sum(abs(expected[name] - added[name]) for name in {VERDICTS, LABELS, *routes.values()})
