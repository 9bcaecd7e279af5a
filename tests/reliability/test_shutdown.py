"""SIGTERM: requests in progress are answered, snapshots are taken, and the exit is clean and fast."""

import os
import signal
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.reliability.deployments import SERVER, deployment, on_a_server
from tests.reliability.oracle import check, stored_log, version_of
from tests.reliability.traffic import Feeder, feed, feedback
from tests.services import wait_until

pytestmark = pytest.mark.timeout(60)

LONGEST_SECONDS = 10.0  # as documented


@pytest.mark.parametrize(("kind", "workers"), [("embedded", 2), (SERVER, 1)])
def test_shutdown_under_load_drains_and_takes_snapshots(kind: str, workers: int, tmp_path: Path) -> None:
    with deployment(kind, tmp_path, workers=workers) as deployed:
        (service,) = deployed.services
        other = feed(deployed.services, "other", 10)
        with Feeder(deployed.services, "acme") as feeder:
            feeder.wait_for(100)
            ending = service.terminate()
            assert ending.code == 0, service.log()[-2000:]
            assert ending.seconds < LONGEST_SECONDS
            wait_until(lambda: service.orphans() == [], "a process is left")
            assert "Traceback" not in service.log()
            service.start()
            feeder.wait_for(50)
        # Every accepted request was answered; only connections were refused, or idle ones closed.
        assert feeder.problems == []
        for tenant, fed in (("acme", feeder), ("other", other)):
            assert check(deployed.services, tenant, fed).snapshots


def test_shutdown_answers_requests_in_progress(tmp_path: Path) -> None:
    with deployment("embedded", tmp_path) as deployed, ThreadPoolExecutor() as threads:
        (service,) = deployed.services
        items = [{"feedback_id": f"b-{k}", **feedback(k)} for k in range(4000)]
        batch = threads.submit(service.post, "/feedback/batch", {"tenant": "acme", "items": items})
        wait_until(lambda: bool(version_of(deployed.url, "acme")), "the batch does not start")
        ending = service.terminate()
        assert ending.code == 0
        results = batch.result().json()["results"]
        assert [result["feedback_id"] for result in results] == [item["feedback_id"] for item in items]
        service.start()
        log = check(deployed.services, "acme")
        assert log.feedback_ids == Counter(item["feedback_id"] for item in items)


@on_a_server
def test_shutdown_without_the_store_is_clean_and_fast(kind: str, tmp_path: Path) -> None:
    with deployment(kind, tmp_path) as deployed:
        (service,) = deployed.services
        fed = feed(deployed.services, "acme", 30)
        deployed.server.freeze()
        ending = service.terminate()
        assert ending.code == 0, service.log()[-2000:]
        assert ending.seconds < LONGEST_SECONDS
        deployed.server.thaw()
        service.start()
        check(deployed.services, "acme", fed)


@on_a_server
def test_shutdown_takes_snapshots_after_an_outage(kind: str, tmp_path: Path) -> None:
    with deployment(kind, tmp_path) as deployed:
        (service,) = deployed.services
        feed(deployed.services, "acme", 10)
        deployed.server.kill()
        wait_until(lambda: service.status("/readyz") != httpx.codes.OK, "the outage is not noticed")
        deployed.server.start()
        wait_until(lambda: service.feedback("acme", **feedback(1)).is_success, "feedback is still refused")
        assert service.terminate().code == 0
        log = stored_log(deployed.url, "acme")
        assert max(log.snapshots) == log.version


def test_ctrl_c_equals_sigterm(tmp_path: Path) -> None:
    with deployment("embedded", tmp_path) as deployed:
        (service,) = deployed.services
        fed = feed(deployed.services, "acme", 10)
        os.killpg(service.pid, signal.SIGINT)  # the whole group, as a terminal does
        assert service.wait() == 0
        service.start()
        assert check(deployed.services, "acme", fed).snapshots
