"""SIGTERM: requests under way are answered, snapshots are taken, and the exit is clean and soon."""

import os
import signal
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.reliability.deployments import SERVER, deployment, on_a_server
from tests.reliability.feeding import Feeder, feed, feedback
from tests.reliability.oracle import check, stored_log, version_of
from tests.services import wait_until

pytestmark = pytest.mark.timeout(60)

LONGEST_SECONDS = 10.0  # the promise


@pytest.mark.parametrize(("kind", "workers"), [("embedded", 2), (SERVER, 1)])
def test_under_load_it_drains_takes_snapshots_and_ends_well(kind: str, workers: int, tmp_path: Path) -> None:
    with deployment(kind, tmp_path, workers=workers) as deployed:
        (service,) = deployed.services
        other = feed(deployed.services, "other", 10)
        with Feeder(deployed.services, "acme") as feeder:
            feeder.wait_for(100)
            ending = service.terminate()
            assert ending.code == 0, service.log()[-2000:]
            assert ending.seconds < LONGEST_SECONDS
            wait_until(lambda: service.orphans() == [], "something is left")
            assert "Traceback" not in service.log()
            service.start()
            feeder.wait_for(50)
        # Whoever was let in was answered: refused are only those who could not connect, or were too late on an
        # idle connection.
        assert feeder.problems == []
        for tenant, fed in (("acme", feeder), ("other", other)):
            assert check(deployed.services, tenant, fed).snapshots


def test_a_request_in_progress_is_answered(tmp_path: Path) -> None:
    with deployment("embedded", tmp_path) as deployed, ThreadPoolExecutor() as threads:
        (service,) = deployed.services
        items = [{"feedback_id": f"b-{k}", **feedback(k)} for k in range(4000)]
        batch = threads.submit(service.post, "/feedback/batch", {"tenant": "acme", "items": items})
        wait_until(lambda: bool(version_of(deployed.url, "acme")), "the batch does not begin")
        ending = service.terminate()
        assert ending.code == 0
        results = batch.result().json()["results"]
        assert [result["feedback_id"] for result in results] == [item["feedback_id"] for item in items]
        service.start()
        log = check(deployed.services, "acme")
        assert log.feedback_ids == Counter(item["feedback_id"] for item in items)


@on_a_server
def test_without_its_store_it_ends_well_and_soon_too(kind: str, tmp_path: Path) -> None:
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
def test_a_store_that_was_away_a_moment_ago_still_gets_its_snapshots(kind: str, tmp_path: Path) -> None:
    with deployment(kind, tmp_path) as deployed:
        (service,) = deployed.services
        feed(deployed.services, "acme", 10)
        deployed.server.kill()
        wait_until(lambda: service.status("/readyz") != httpx.codes.OK, "it does not notice")
        deployed.server.start()
        wait_until(lambda: service.feedback("acme", **feedback(1)).is_success, "feedback is not taken again")
        assert service.terminate().code == 0
        log = stored_log(deployed.url, "acme")
        assert max(log.snapshots) == log.version


def test_ctrl_c_is_as_good_as_sigterm(tmp_path: Path) -> None:
    with deployment("embedded", tmp_path) as deployed:
        (service,) = deployed.services
        fed = feed(deployed.services, "acme", 10)
        os.killpg(service.pid, signal.SIGINT)  # as a terminal does: the whole group
        assert service.wait() == 0
        service.start()
        assert check(deployed.services, "acme", fed).snapshots
