"""The store stops or hangs: predictions continue, feedback is refused, and the service recovers."""

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.reliability.deployments import SERVER, Deployment, deployment, on_a_server
from tests.reliability.oracle import check
from tests.reliability.traffic import Feeder, feed, feedback
from tests.services import Service, wait_until

pytestmark = pytest.mark.timeout(60)

SOME = 60
FEW_SECONDS = 10.0  # the timeout of the store is 2 s, and a request may wait behind another one


@contextmanager
def killed(deployed: Deployment) -> Iterator[None]:
    deployed.server.kill()
    yield
    deployed.server.start()


@contextmanager
def frozen(deployed: Deployment) -> Iterator[None]:
    pids = [deployed.server.pid] if deployed.store else deployed.services[0].valkeys()
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    yield
    for pid in pids:
        os.kill(pid, signal.SIGCONT)


OUTAGES = {"killed": killed, "frozen": frozen}


@pytest.mark.parametrize(("how", "kind"), [("killed", SERVER), ("frozen", "embedded")])
def test_without_its_store_a_service_predicts_and_refuses_feedback(how: str, kind: str, tmp_path: Path) -> None:
    with deployment(kind, tmp_path, number=2) as deployed:
        with Feeder(deployed.services, "acme", clients=3) as feeder:
            feeder.wait_for(SOME)
            with OUTAGES[how](deployed), ThreadPoolExecutor() as threads:  # each waits for the timeout of the store
                list(threads.map(check_outage, deployed.services))
            for service in deployed.services:
                wait_until(service.is_ready, "a service does not recover")
            feeder.wait_for(SOME)
        check(deployed.services, "acme", feeder)


def check_outage(service: Service) -> None:
    begin = time.monotonic()
    refused = service.feedback("acme", **feedback(1))
    assert time.monotonic() - begin < FEW_SECONDS
    assert refused.status_code == 503, refused.text
    assert refused.headers["content-type"] == "application/problem+json"
    assert int(refused.headers["retry-after"]) >= 1
    assert refused.json()["type"] == "/problems/store-unavailable"
    wait_until(lambda: not service.is_ready(), "a service without a store is ready")
    assert service.request("GET", "/livez").status_code == 200
    part = service.readiness()["redis"]
    assert not part["ok"]
    assert "Redis" in part["detail"]
    predicted = service.predict("acme", **input_of(1))
    assert predicted.status_code == 200, predicted.text
    assert predicted.json()["prediction_id"] is None


def input_of(k: int) -> dict[str, object]:
    return {"features": feedback(k)["features"]}


@on_a_server
def test_predictions_do_not_wait_for_a_hung_store(kind: str, tmp_path: Path) -> None:
    """A prediction does not wait for the store, not even before the outage is noticed."""
    with deployment(kind, tmp_path) as deployed:
        (service,) = deployed.services
        feed(deployed.services, "acme", 5)
        with frozen(deployed):
            begin = time.monotonic()
            for k in range(20):
                assert service.predict("acme", **input_of(k)).status_code == 200
            assert time.monotonic() - begin < 1.5  # less than the timeout of the store
            assert service.tenant("acme")["version"] >= 5


@on_a_server
def test_a_service_starts_without_its_store_and_becomes_ready_with_it(kind: str, tmp_path: Path) -> None:
    with deployment(kind, tmp_path) as deployed:
        feeder = feed(deployed.services, "acme", 20)
        deployed.server.kill()
        late = deployed.new_service().launch().wait_until_listening()
        wait_until(lambda: late.status("/livez") == 200, "it does not start")
        assert late.status("/readyz") == 503
        assert late.predict("acme", **input_of(1)).status_code == 503  # it cannot load the tenant
        deployed.server.start()
        late.wait_until_ready()
        check(deployed.services, "acme", feeder)


@on_a_server
def test_a_full_store_refuses_feedback_until_there_is_room(kind: str, tmp_path: Path) -> None:
    with deployment(kind, tmp_path) as deployed:
        (service,) = deployed.services
        before = feed(deployed.services, "acme", 20)
        deployed.server.ask("CONFIG", "SET", "maxmemory", "1")
        refused = service.feedback("acme", **feedback(1))
        assert refused.status_code == 503, refused.text
        assert "no memory left" in refused.json()["detail"]
        deployed.server.ask("CONFIG", "SET", "maxmemory", "0")
        after = feed(deployed.services, "acme", 20, prefix="after")
        check(deployed.services, "acme", before, after)
