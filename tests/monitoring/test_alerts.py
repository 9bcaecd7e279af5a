"""Failures of real processes raise alerts in a real Prometheus."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.monitoring.prometheus import Prometheus, needs_prometheus, prometheus
from tests.servers import Server, valkey_server
from tests.services import Service, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180), needs_prometheus]


@dataclass
class Deployment:
    """A service with its store and its Prometheus."""

    store: Server
    service: Service
    prometheus: Prometheus

    def wait_for(self, alert: str, state: str) -> None:
        """Wait until the alert is pending or firing."""
        expression = f'ALERTS{{alertname="{alert}", alertstate="{state}", instance="127.0.0.1:{self.service.port}"}}'
        wait_until(lambda: self.prometheus.value(expression) == 1, f"{alert} does not fire")


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    with (
        valkey_server(tmp_path / "store") as store,
        Service(tmp_path / "service", redis_url=store.url, workers=2).start() as service,
        prometheus(tmp_path, [f"127.0.0.1:{service.port}"]) as watcher,
    ):
        assert service.feedback("acme", features={"a": 1}, label=1).status_code == 200
        wait_until(lambda: watcher.value("sum(sluice_labels_total)") == 1, "Prometheus does not see the label")
        yield Deployment(store, service, watcher)


def test_an_emptied_store_raises_an_alert(deployment: Deployment) -> None:
    deployment.store.flush_all()
    deployment.wait_for("SluiceLogRepaired", "firing")


def test_a_killed_store_and_a_killed_service_raise_alerts(deployment: Deployment) -> None:
    deployment.store.kill()
    deployment.wait_for("SluiceRedisDown", "pending")
    deployment.service.kill()
    deployment.wait_for("SluiceDown", "pending")
