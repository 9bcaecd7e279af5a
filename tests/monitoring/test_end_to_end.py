"""Real services and a real Prometheus with our rules: every metric and panel agrees with the labels given."""

import math
import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

import pytest

from tests.monitoring.files import Query, alerts, annotation_queries, panel_queries, recordings, selectors
from tests.monitoring.moderators import Cell, Counts, Moderator, Visitors, confusion
from tests.monitoring.prometheus import Prometheus, needs_prometheus, prometheus
from tests.reviews import queue
from tests.servers import valkey_server
from tests.services import Service, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300), needs_prometheus]

TENANTS = ("acme", "links", "mail")
WORKERS = 3
VISITED = "visited"  # gets predictions all the time, and no labels
TRAFFIC_SECONDS = 25.0  # of labels; a rate needs some samples, one a second
DAY_SECONDS = 100.0  # rates of a day are recorded once a minute
VARIABLES = {"$tenant": ".*", "$instance": ".*", "$__rate_interval": "1m"}
CELL = ("tenant", "label", "predicted")
MISTAKES = [("/predict", "422"), ("/tenants/{tenant}", "404"), ("unknown", "404")]  # of clients, by route and status

each_tenant = pytest.mark.parametrize("tenant", TENANTS)


@dataclass
class Scene:
    """The running processes, and the counts of the answers."""

    services: list[Service]
    prometheus: Prometheus
    counts: Counts


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Two services on one store, one of them with two workers, and labels for three tenants through all of them."""
    folder = tmp_path_factory.mktemp("monitoring")
    with ExitStack() as running:
        store = running.enter_context(valkey_server(folder / "store"))
        store.ask("CONFIG", "SET", "maxmemory", "4gb")  # without a limit there are no metrics of it
        services = [
            running.enter_context(Service(folder / str(workers), redis_url=store.url, workers=workers).launch())
            for workers in (2, 1)
        ]
        for service in services:
            service.wait_until_ready()
        watcher = running.enter_context(prometheus(folder, [f"127.0.0.1:{service.port}" for service in services]))
        wait_until(lambda: watcher.value('sum(up{job="sluice"})') == 2, "Prometheus does not reach the services")
        running.enter_context(Visitors(services, VISITED))
        counts = moderate(services)
        queue(store.url, TENANTS[0], [1.0, None])
        scene = Scene(services, watcher, counts)
        wait_until(lambda: is_up_to_date(scene), "the metrics do not reach what was given")
        yield scene


def moderate(services: list[Service]) -> Counts:
    counts = Counts()
    moderators = [
        Moderator(service, tenant, counts, first=100_000 * number)
        for number, (tenant, service) in enumerate((tenant, service) for tenant in TENANTS for service in services)
    ]
    end = time.monotonic() + TRAFFIC_SECONDS
    while time.monotonic() < end:
        for moderator in moderators:
            moderator.work()
    for tenant in TENANTS:
        target = {"target": {"false_positive_rate": 0.05}}
        assert services[0].request("PUT", f"/tenants/{tenant}", json=target).status_code == 200
        assert services[0].post(f"/tenants/{tenant}/snapshot", None).status_code == 200
    return counts


def is_up_to_date(scene: Scene) -> bool:
    """Whether Prometheus has seen every label, and every worker with every event."""
    versions = sum(scene.services[0].tenant(tenant)["version"] for tenant in TENANTS)
    applied = scene.prometheus.value(f'sum(sluice_tenant_version{{tenant!="{VISITED}"}})')
    counted = scene.prometheus.value("sum(sluice_labels_total)")
    return applied == WORKERS * versions and counted == sum(scene.counts.given.values())


def test_labels_were_given_in_every_way_through_every_worker(scene: Scene) -> None:
    assert scene.counts.duplicates > 20
    assert sum(scene.counts.served.values()) > 20
    assert scene.prometheus.value("count(sum by (instance, worker) (sluice_labels_total) > 0)") == WORKERS


def test_every_label_is_counted_once_by_tenant_label_and_verdict(scene: Scene) -> None:
    counted = scene.prometheus.by("sum by (tenant, label, predicted) (sluice_labels_total) > 0", *CELL)
    assert counted == scene.counts.given


def test_every_label_by_prediction_id_is_counted_by_the_served_verdict(scene: Scene) -> None:
    counted = scene.prometheus.by("sum by (tenant, label, predicted) (sluice_served_labels_total) > 0", *CELL)
    assert counted == scene.counts.served


@each_tenant
def test_every_prediction_is_counted_once(scene: Scene, tenant: str) -> None:
    assert (
        scene.prometheus.value(f'sum(sluice_predictions_total{{tenant="{tenant}"}})')
        == (scene.counts.predictions[tenant])
    )
    assert (
        scene.prometheus.value(f'sum(sluice_prediction_score_bucket{{tenant="{tenant}", le="+Inf"}})')
        == (scene.counts.predictions[tenant])
    )


@each_tenant
@pytest.mark.parametrize(("metric", "verdict"), [("sluice_labels", "model"), ("sluice_served_labels", "served")])
def test_the_balanced_accuracy_is_that_of_the_answers(scene: Scene, tenant: str, metric: str, verdict: str) -> None:
    exact = confusion(cells(scene.counts, verdict), tenant).balanced_accuracy
    found = share(f"{metric}_total", tenant, "anomaly")
    left = share(f"{metric}_total", tenant, "normal")
    assert scene.prometheus.value(f"({found} + {left}) / 2") == pytest.approx(exact, abs=1e-12)
    gauge = f'sluice_balanced_accuracy_ratio{{tenant="{tenant}", verdict="{verdict}", window="lifetime"}}'
    held = scene.prometheus.query(gauge)
    assert [value for _, value in held] == pytest.approx([exact] * WORKERS, abs=1e-12)  # all workers agree


@each_tenant
@pytest.mark.parametrize(("prefix", "verdict"), [("sluice", "model"), ("sluice_served", "served")])
def test_the_recorded_rates_of_5_minutes_are_those_of_the_answers(
    scene: Scene, tenant: str, prefix: str, verdict: str
) -> None:
    exact = confusion(cells(scene.counts, verdict), tenant)
    recorded = partial(recorded_rate, scene.prometheus, tenant)
    # `increase` extrapolates: it adds up to a second at either end of the half minute that it has seen, and not the
    # same for a series that began with 0 and one that did not. Counts are some percent too large, so shares differ.
    assert recorded(f"{prefix}_sensitivity") == pytest.approx(exact.sensitivity, abs=0.03)
    assert recorded(f"{prefix}_specificity") == pytest.approx(exact.specificity, abs=0.03)
    assert recorded(f"{prefix}_balanced_accuracy") == pytest.approx(exact.balanced_accuracy, abs=0.02)


@each_tenant
def test_no_label_is_missing_in_the_recorded_increase(scene: Scene, tenant: str) -> None:
    given = confusion(scene.counts.given, tenant).examples
    increase = f'sum(tenant_label_predicted:sluice_labels:increase_5m{{tenant="{tenant}"}})'
    # Not less than what was given, as soon as the rule has run once more, and extrapolated as above.
    wait_until(lambda: given <= (scene.prometheus.value(increase) or 0) <= 1.1 * given, f"{increase} is not {given}")


def test_client_errors_are_counted_and_do_not_use_the_error_budget(scene: Scene) -> None:
    counted = scene.prometheus.by("sum by (route, status) (sluice_http_requests_total)", "route", "status")
    assert min(counted[what] for what in MISTAKES) > 0
    assert scene.prometheus.value("job:sluice_http_errors:ratio_5m") == 0


def test_grafana_finds_the_tenants_and_the_services(scene: Scene) -> None:
    tenants = scene.prometheus.label_values("tenant", "sluice_tenant_version")
    assert tenants == sorted([*TENANTS, VISITED])
    services = scene.prometheus.label_values("instance", "sluice_workers")
    assert services == sorted(f"127.0.0.1:{service.port}" for service in scene.services)


@pytest.mark.parametrize("query", panel_queries(), ids=lambda query: query.source)
def test_every_panel_has_data(scene: Scene, query: Query) -> None:
    wait_for_data(scene.prometheus, filled_in(query.expression))


@pytest.mark.parametrize("query", annotation_queries(), ids=lambda query: query.source)
def test_every_annotation_query_is_valid(scene: Scene, query: Query) -> None:
    assert isinstance(scene.prometheus.query_range(filled_in(query.expression), 60), list)


@pytest.mark.parametrize("name", [rule["record"] for rule in recordings()])
def test_every_recorded_rate_exists(scene: Scene, name: str) -> None:
    wait_for_data(scene.prometheus, name)


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: str(alert["alert"]))
def test_every_alert_selects_existing_series(scene: Scene, alert: dict[str, str]) -> None:
    scene.prometheus.query(alert["expr"])
    for name, matchers in selectors(alert["expr"]):
        wait_for_data(scene.prometheus, name + matchers)


def cells(counts: Counts, verdict: str) -> Counter[Cell]:
    return counts.given if verdict == "model" else counts.served


def share(metric: str, tenant: str, label: str) -> str:
    """The share of the labels of a class that were foreseen, as a query."""
    of_class = f'{metric}{{tenant="{tenant}", label="{label}"'
    return f'sum({of_class}, predicted="{label}"}}) / sum({of_class}}})'


def recorded_rate(watcher: Prometheus, tenant: str, name: str) -> float | None:
    return watcher.value(f'tenant:{name}:ratio_5m{{tenant="{tenant}"}}')


def filled_in(expression: str) -> str:
    for variable, value in VARIABLES.items():
        expression = expression.replace(variable, value)
    assert not re.search(r"\$\w", expression), expression
    return expression


def wait_for_data(watcher: Prometheus, expression: str) -> None:
    """Wait until the answer has a number other than NaN."""

    def has_data() -> bool:
        return any(not math.isnan(value) for _, value in watcher.query(expression))

    wait_until(has_data, f"there is never any data for {expression}", DAY_SECONDS)
