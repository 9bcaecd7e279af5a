"""kill -9 of each kind of process under feedback: every acknowledged label is in the log afterwards, once."""

from pathlib import Path

import pytest

from tests.reliability.deployments import EMBEDDED, REDIS, deployment, on_a_server
from tests.reliability.oracle import check
from tests.reliability.traffic import Feeder, feed
from tests.services import Service, wait_until

pytestmark = pytest.mark.timeout(60)

SOME = 120  # labels before and after


@pytest.mark.parametrize("kind", [EMBEDDED, REDIS])
def test_a_killed_worker_loses_nothing_and_is_restarted(kind: str, tmp_path: Path) -> None:
    with deployment(kind, tmp_path, workers=2) as deployed:
        (service,) = deployed.services
        with Feeder(deployed.services, "acme") as feeder:
            feeder.wait_for(SOME)
            killed = service.kill_worker()
            feeder.wait_for(SOME)
        wait_until(lambda: len(service.worker_pids()) == 2, "the worker is not restarted")
        assert killed not in service.worker_pids()
        check(deployed.services, "acme", feeder)


@pytest.mark.parametrize("kind", [EMBEDDED, REDIS])
def test_a_killed_service_loses_nothing(kind: str, tmp_path: Path) -> None:
    with deployment(kind, tmp_path) as deployed:
        (service,) = deployed.services
        with Feeder(deployed.services, "acme") as feeder:
            feeder.wait_for(SOME)
            service.kill(everything=True)
            service.start()
            feeder.wait_for(SOME)
        assert feeder.refused
        check(deployed.services, "acme", feeder)


@on_a_server
def test_a_killed_store_with_append_only_file_loses_nothing(kind: str, tmp_path: Path) -> None:
    with deployment(kind, tmp_path, number=2) as deployed:
        with Feeder(deployed.services, "acme") as feeder:
            feeder.wait_for(SOME)
            deployed.server.kill()
            wait_until(lambda: len(feeder.refused) > 3, "feedback is accepted without a store")
            deployed.server.start()
            feeder.wait_for(SOME)
        check(deployed.services, "acme", feeder)


def test_a_killed_embedded_store_loses_nothing_and_is_restarted(tmp_path: Path) -> None:
    with deployment("embedded", tmp_path) as deployed:
        (service,) = deployed.services
        with Feeder(deployed.services, "acme") as feeder:
            feeder.wait_for(SOME)
            service.kill_valkey()
            feeder.wait_for(SOME)
        assert "the embedded Valkey died (signal 9); restarting it" in service.log()
        check(deployed.services, "acme", feeder)


def test_feedback_that_is_retried_until_it_is_acknowledged_counts_once(tmp_path: Path) -> None:
    """The label in flight during a kill is in the log or not; the client need not know."""
    with deployment("embedded", tmp_path) as deployed:
        (service,) = deployed.services
        with Feeder(deployed.services, "acme", retry=True) as feeder:
            feeder.wait_for(SOME)
            service.kill(everything=False)  # the next start finds its Valkey running
            service.start()
            feeder.wait_for(SOME)
        log = check(deployed.services, "acme", feeder)
        assert log.feedback_ids.keys() == feeder.acknowledged.keys()


def test_after_a_kill_of_the_parent_workers_end_and_the_next_start_takes_over(tmp_path: Path) -> None:
    with deployment("embedded", tmp_path, workers=2) as deployed:
        (service,) = deployed.services
        feeder = feed(deployed.services, "acme", SOME)
        service.kill_parent()
        wait_until(lambda: service.orphans() == service.valkeys(), "the workers do not end")
        (orphan,) = service.valkeys()
        service.start()
        wait_until(lambda: orphan not in service.valkeys(), "the orphan is still there")
        check(deployed.services, "acme", feeder)


def test_a_second_service_on_the_same_data_is_refused(tmp_path: Path) -> None:
    with deployment("embedded", tmp_path) as deployed:
        (first,) = deployed.services
        feeder = feed(deployed.services, "acme", 10)
        with Service(tmp_path / "second", data_dir=first.data_dir) as second:
            assert second.launch().wait() == 1
            assert f"{first.data_dir} is in use by the service with process id {first.pid}" in second.log()
            assert "Traceback" not in second.log()
        check([first], "acme", feeder)
