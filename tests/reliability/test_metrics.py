"""Metrics of real services: every label is counted once, and metrics are available in an outage."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from tests.reliability.deployments import deployment, on_a_server
from tests.reliability.oracle import check
from tests.reliability.traffic import Feeder, feed
from tests.services import Service, wait_until

pytestmark = pytest.mark.timeout(60)
WORDS = {1: "anomaly", -1: "normal"}


def samples(service: Service, name: str, **labels: str) -> list[Sample]:
    page = service.request("GET", "/metrics")
    found = [sample for family in text_string_to_metric_families(page.text) for sample in family.samples]
    return [each for each in found if each.name == name and labels.items() <= each.labels.items()]


def workers_answering(service: Service) -> list[float]:
    return [sample.value for sample in samples(service, "sluice_workers_answering")]


def counted(services: Iterable[Service], name: str, tenant: str = "acme") -> Counter[tuple[str, str]]:
    """Return the cells of a confusion counter, over all workers of all services."""
    cells: Counter[tuple[str, str]] = Counter()
    for service in services:
        for sample in samples(service, name, tenant=tenant):
            cells[sample.labels["label"], sample.labels["predicted"]] += int(sample.value)
    return +cells


def answered(feeder: Feeder) -> Counter[tuple[str, str]]:
    """Return the same cells from the answers to the clients."""
    return Counter((WORDS[each["label"]], WORDS[each["predicted"]]) for each in feeder.acknowledged.values())


def check_counts(services: Sequence[Service], fed: Feeder) -> None:
    assert counted(services, "sluice_labels_total") == answered(fed)
    for service in services:
        exact = service.tenant("acme")["balanced_accuracy"]
        gauges = samples(service, "sluice_balanced_accuracy_ratio", tenant="acme", verdict="model", window="lifetime")
        assert {sample.value for sample in gauges} == {exact}


@pytest.mark.parametrize("workers", [1, 2])
def test_the_workers_of_a_service_count_every_label_once(workers: int, tmp_path: Path) -> None:
    with deployment("embedded", tmp_path, workers=workers) as deployed:
        (service,) = deployed.services
        fed = feed(deployed.services, "acme", 200, clients=8)
        check(deployed.services, "acme", fed)
        check_counts(deployed.services, fed)
        assert {sample.labels["worker"] for sample in samples(service, "sluice_store_up")} == set("01"[:workers])
        assert workers_answering(service) == [workers]


def test_several_workers_start_where_temporary_files_have_a_long_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / ("long" * 25)  # longer than the path of a socket may be
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    with deployment("embedded", tmp_path, workers=2) as deployed:
        (service,) = deployed.services
        wait_until(lambda: workers_answering(service) == [2], "the workers do not find each other")


@on_a_server
def test_services_that_share_a_store_count_every_label_once(kind: str, tmp_path: Path) -> None:
    with deployment(kind, tmp_path, number=2) as deployed:
        fed = feed(deployed.services, "acme", 200, clients=8)
        check(deployed.services, "acme", fed)
        check_counts(deployed.services, fed)


def test_a_retry_is_counted_once(tmp_path: Path) -> None:
    with deployment("embedded", tmp_path) as deployed:
        (service,) = deployed.services
        for _ in range(3):
            service.feedback("acme", feedback_id="one", label=1, features={"a": 1}).raise_for_status()
        assert counted([service], "sluice_labels_total") == {("anomaly", "normal"): 1}


def test_served_verdicts_are_counted_beside_current_ones(tmp_path: Path) -> None:
    with deployment("embedded", tmp_path) as deployed:
        (service,) = deployed.services
        early = service.predict("acme", features={"a": 1}).json()["prediction_id"]
        service.feedback("acme", label=1, features={"a": 1}).raise_for_status()
        service.feedback("acme", label=1, prediction_id=early).raise_for_status()
        assert counted([service], "sluice_labels_total") == {("anomaly", "normal"): 1, ("anomaly", "anomaly"): 1}
        assert counted([service], "sluice_served_labels_total") == {("anomaly", "normal"): 1}
        (delays,) = samples(service, "sluice_label_delay_seconds_count", tenant="acme")
        assert delays.value == 1.0


@pytest.mark.e2e  # slow
def test_a_killed_worker_is_replaced_under_the_same_index(tmp_path: Path) -> None:
    with deployment("embedded", tmp_path, workers=2) as deployed:
        (service,) = deployed.services
        service.kill_worker()

        def is_whole() -> bool:
            try:
                workers = {sample.labels["worker"] for sample in samples(service, "sluice_store_up")}
            except httpx.TransportError:  # the connection was to the killed worker
                return False
            return workers == {"0", "1"} and len(service.worker_pids()) == 2

        wait_until(is_whole, "no worker takes the place")


@pytest.mark.e2e  # slow
@on_a_server
def test_metrics_are_served_while_the_store_is_down(kind: str, tmp_path: Path) -> None:
    with deployment(kind, tmp_path) as deployed:
        (service,) = deployed.services
        fed = feed(deployed.services, "acme", 30)
        deployed.server.freeze()
        wait_until(lambda: not samples(service, "sluice_store_up")[0].value, "it does not notice", 30)
        assert counted([service], "sluice_labels_total") == answered(fed)
        assert samples(service, "sluice_store_errors_total")
        deployed.server.thaw()
        wait_until(lambda: bool(samples(service, "sluice_store_up")[0].value), "it does not recover", 30)
        assert samples(service, "sluice_pending_predictions", tenant="acme")


def test_beyond_the_limit_tenants_are_counted_together(tmp_path: Path) -> None:
    with deployment("embedded", tmp_path, metrics_tenants=1, metrics_tenant_names="vip") as deployed:
        (service,) = deployed.services
        for name in ("first", "second", "third", "vip"):
            service.predict(name, features={"a": 1}).raise_for_status()
        found = samples(service, "sluice_predictions_total", predicted="normal")
        assert {each.labels["tenant"]: each.value for each in found} == {"first": 1.0, "vip": 1.0, "_other": 2.0}
        gauges = samples(service, "sluice_tenant_version")
        assert {each.labels["tenant"] for each in gauges} == {"first", "vip"}
