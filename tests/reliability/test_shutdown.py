"""SIGTERM: requests in progress are answered, snapshots are taken, and the exit is clean and fast."""

import os
import re
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from app.storage.redis_keys import keys_of
from tests.reliability.deployments import SERVER, deployment, on_a_server
from tests.reliability.oracle import check, client_of, stored_log, version_of
from tests.reliability.test_limits import in_progress
from tests.reliability.traffic import Feeder, feed, feedback
from tests.services import wait_until

pytestmark = pytest.mark.timeout(60)

LONGEST_SECONDS = 10.0  # as documented
MODEL = {"Content-Type": "application/octet-stream"}
STREAMS_SECONDS = 3.0  # less than the time for requests in progress
KILL_SECONDS = 15.0  # how long an operator should wait, as documented; more than the time of a shutdown


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


def test_event_streams_end_at_once_and_delay_nothing(tmp_path: Path) -> None:
    with deployment("embedded", tmp_path) as deployed, ThreadPoolExecutor(5) as threads:
        (service,) = deployed.services
        feed(deployed.services, "acme", 10)
        streams = [threads.submit(service.request, "GET", "/tenants/acme/events") for _ in range(5)]
        open_streams = re.compile(r"^sluice_event_streams{.*} 5\.0", re.MULTILINE)
        wait_until(lambda: bool(open_streams.search(service.request("GET", "/metrics").text)), "they do not begin")
        assert in_progress(service) == 0, "they take no place from other requests"
        ending = service.terminate()
        assert ending.code == 0
        assert ending.seconds < STREAMS_SECONDS
        for each in streams:
            assert each.result().status_code == httpx.codes.OK
            assert each.result().text.count("event: state") == 1
        assert "Traceback" not in service.log()


@on_a_server
def test_a_request_that_outlasts_the_shutdown_gets_503(kind: str, tmp_path: Path) -> None:
    with deployment(kind, tmp_path, shutdown_seconds=2) as deployed, ThreadPoolExecutor() as threads:
        (service,) = deployed.services
        feed(deployed.services, "acme", 10)
        model = service.request("GET", "/tenants/acme/export").content
        with client_of(deployed.url) as store:
            store.set(keys_of("acme").snapshot_lock, "another worker")  # the import waits for it
        waiting = threads.submit(
            service.request,
            "POST",
            "/tenants/acme/import?replace=true",
            content=model,
            headers={"Content-Type": "application/octet-stream"},
        )
        wait_until(lambda: in_progress(service) == 1, "the import does not begin")
        ending = service.terminate()
        assert ending.code == 0
        assert waiting.result().status_code == httpx.codes.SERVICE_UNAVAILABLE
        assert waiting.result().json()["type"] == "/problems/stopping"
        assert "Traceback" not in service.log()


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


@pytest.mark.e2e  # the stopped worker has all its time to end
@pytest.mark.parametrize("wait_seconds", [0.0, 1.5], ids=["at once", "while it is being asked"])
def test_shutdown_with_a_stopped_worker_ends_in_time(wait_seconds: float, tmp_path: Path) -> None:
    with deployment("embedded", tmp_path, workers=2) as deployed:
        (service,) = deployed.services
        fed = feed(deployed.services, "acme", 50)
        stopped = service.worker_pids()[0]
        os.kill(stopped, signal.SIGSTOP)
        time.sleep(wait_seconds)
        ending = service.terminate()
        assert ending.code == 0, service.log()[-2000:]
        assert ending.seconds < KILL_SECONDS
        assert f"worker {stopped} does not end in time" in service.log()
        wait_until(lambda: service.orphans() == [], "a process is left")
        service.start()
        check(deployed.services, "acme", fed)


@pytest.mark.e2e
def test_shutdown_with_everything_stopped_ends_in_time(tmp_path: Path) -> None:
    with deployment("embedded", tmp_path, workers=2) as deployed:
        (service,) = deployed.services
        fed = feed(deployed.services, "acme", 50)
        for pid in (*service.valkeys(), service.worker_pids()[0]):
            os.kill(pid, signal.SIGSTOP)
        ending = service.terminate()
        assert ending.code == 0, service.log()[-2000:]
        assert ending.seconds < KILL_SECONDS
        wait_until(lambda: service.orphans() == [], "a process is left")
        service.start()
        check(deployed.services, "acme", fed)


def test_ctrl_c_equals_sigterm(tmp_path: Path) -> None:
    with deployment("embedded", tmp_path) as deployed:
        (service,) = deployed.services
        fed = feed(deployed.services, "acme", 10)
        os.killpg(service.pid, signal.SIGINT)  # the whole group, as a terminal does
        assert service.wait() == 0
        service.start()
        assert check(deployed.services, "acme", fed).snapshots
