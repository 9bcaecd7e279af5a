"""Snapshots are taken by events, by time, on request and at shutdown; the log is trimmed before them."""

from pathlib import Path

import pytest

from tests.reliability.deployments import Deployment, deployment, on_a_server
from tests.reliability.oracle import check, stored_log
from tests.reliability.traffic import Feeder, feed
from tests.services import wait_until

pytestmark = pytest.mark.timeout(60)

RARELY = {"snapshot_every_events": 1_000_000, "snapshot_every_seconds": 3600}


@on_a_server
def test_snapshots_by_events_trim_the_log_before_the_oldest_kept(kind: str, tmp_path: Path) -> None:
    often = {"snapshot_every_events": 40, "snapshots_kept": 2, "log_retention_events": 0}
    with deployment(kind, tmp_path, number=2, **(RARELY | often)) as deployed:
        for prefix in ("one", "two", "three"):
            feed(deployed.services, "acme", 60, prefix=prefix)
            wait_for_snapshot(deployed, "acme", behind=39)
        log = check(deployed.services, "acme")
        assert len(log.snapshots) == 2
        assert log.entries[0][0] == min(log.snapshots) + 1
        deployed.services[1].kill()
        deployed.services[1].start()
        check(deployed.services, "acme")
        assert log.replayed().digest == deployed.services[1].digest("acme")


def test_snapshots_by_time(tmp_path: Path) -> None:
    with deployment("embedded", tmp_path, **(RARELY | {"snapshot_every_seconds": 1})) as deployed:
        fed = feed(deployed.services, "acme", 20)
        wait_for_snapshot(deployed, "acme")
        check(deployed.services, "acme", fed)


def test_retention_keeps_more_of_the_log_than_the_snapshots_need(tmp_path: Path) -> None:
    with deployment("embedded", tmp_path, snapshots_kept=1, log_retention_events=50, **RARELY) as deployed:
        (service,) = deployed.services
        for k in range(3):
            feed(deployed.services, "acme", 40, prefix=f"f{k}")
            service.post("/tenants/acme/snapshot", None).raise_for_status()
        log = check(deployed.services, "acme")
        assert max(log.snapshots) == log.version
        assert min(log.snapshots) >= log.version - 50, "an older one stays only if the log reaches back to it"
        assert log.entries[0][0] == log.version - 50 + 1


def test_a_kill_during_snapshots_leaves_good_ones(tmp_path: Path) -> None:
    often = {"snapshot_every_events": 1, "snapshots_kept": 2, "log_retention_events": 0}
    with deployment("embedded", tmp_path, **(RARELY | often)) as deployed:
        (service,) = deployed.services
        with Feeder(deployed.services, "acme", retry=True) as feeder:
            for _ in range(2):
                feeder.wait_for(100)
                service.kill(everything=True)
                service.start()
            feeder.wait_for(50)
        check(deployed.services, "acme")
        assert service.tenant("acme")["counts"]["examples"] == len(feeder.acknowledged)


def wait_for_snapshot(deployed: Deployment, tenant: str, behind: int = 0) -> None:
    """Wait for a snapshot of all events but the last few."""
    version = stored_log(deployed.url, tenant).version

    def is_taken() -> bool:
        return max(stored_log(deployed.url, tenant).snapshots, default=0) >= version - behind

    wait_until(is_taken, "no snapshot is taken")
