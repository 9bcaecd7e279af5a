"""Accidents of real processes, and whether Prometheus notices them."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.monitoring.prometheus import Prometheus, needs_prometheus, prometheus
from tests.servers import Server, valkey_server
from tests.services import Service, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180), needs_prometheus]


@dataclass
class Watched:
    """A service with its store, and who watches it."""

    store: Server
    service: Service
    prometheus: Prometheus

    def wait_for(self, alert: str, state: str) -> None:
        """Return when the alert has come; it is pending where it waits whether the trouble lasts."""
        expression = f'ALERTS{{alertname="{alert}", alertstate="{state}", instance="127.0.0.1:{self.service.port}"}}'
        wait_until(lambda: self.prometheus.value(expression) == 1, f"{alert} does not come")


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    with (
        valkey_server(tmp_path / "store") as store,
        Service(tmp_path / "service", redis_url=store.url, workers=2).start() as service,
        prometheus(tmp_path, [f"127.0.0.1:{service.port}"]) as watcher,
    ):
        assert service.feedback("acme", features={"a": 1}, label=1).status_code == 200
        wait_until(lambda: watcher.value("sum(sluice_labels_total)") == 1, "Prometheus does not see the label")
        yield Watched(store, service, watcher)


def test_a_store_that_was_emptied_is_told(watched: Watched) -> None:
    watched.store.flush_all()
    watched.wait_for("SluiceLogRepaired", "firing")


def test_a_store_that_was_killed_and_then_the_service_are_told(watched: Watched) -> None:
    watched.store.kill()
    watched.wait_for("SluiceRedisDown", "pending")
    watched.service.kill()
    watched.wait_for("SluiceDown", "pending")
