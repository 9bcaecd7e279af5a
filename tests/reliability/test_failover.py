"""A primary fails: Sentinel promotes the replica, or the node of a cluster is restarted; no label is lost."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.reliability.deployments import Deployment, deployment
from tests.reliability.oracle import check, check_once, client_of, version_of, wait_for_labels
from tests.reliability.traffic import Feeder, feed
from tests.servers import ClusterOfThree, SentinelSetup
from tests.services import wait_until

pytestmark = pytest.mark.timeout(60)

SOME = 100
TENANTS = [f"tenant-{k}" for k in range(6)]  # on all nodes of a cluster


def test_a_failover_loses_no_label(tmp_path: Path) -> None:
    with deployment("sentinel", tmp_path, number=2) as deployed:
        assert isinstance(deployed.store, SentinelSetup)
        with Feeder(deployed.services, "acme") as feeder:
            feeder.wait_for(SOME)
            deployed.store.kill_primary()
            deployed.store.wait_for_failover()
            feeder.wait_for(SOME)
        wait_for_labels(deployed.url, "acme", feeder)
        check_once(check(deployed.services, "acme"))


def test_events_that_the_replica_did_not_receive_are_appended_again(tmp_path: Path) -> None:
    """The replica is cut off, then promoted: only the services have the labels acknowledged in between."""
    with deployment("sentinel", tmp_path, number=2) as deployed:
        assert isinstance(deployed.store, SentinelSetup)
        before = feed(deployed.services, "acme", SOME)
        deployed.store.replica.freeze()
        deployed.store.primary.ask("CLIENT", "KILL", "TYPE", "replica")
        missed = feed(deployed.services, "acme", 20, prefix="missed")
        stood = check(deployed.services, "acme", before, missed).version
        deployed.store.kill_primary()
        deployed.store.replica.thaw()
        deployed.store.wait_for_failover()
        wait_until(lambda: version_of(deployed.url, "acme") == stood, "the events are not appended again", 30)
        since = feed(deployed.services, "acme", 20, prefix="since")
        check(deployed.services, "acme", before, missed, since)
        assert any("events; they were appended again" in service.log() for service in deployed.services)
        assert list(tmp_path.glob("*/data/rescued/*")) == []


@pytest.fixture(scope="module")
def clustered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployment("cluster", tmp_path_factory.mktemp("cluster"), number=2) as made:
        for tenant in TENANTS:
            feed(made.services, tenant, 10)
        yield made


def test_a_restarted_cluster_node_loses_nothing(clustered: Deployment) -> None:
    assert isinstance(clustered.store, ClusterOfThree)
    with Feeder(clustered.services, TENANTS[0], prefix="through") as feeder:
        feeder.wait_for(SOME)
        for node in clustered.store.nodes[:2]:
            node.kill()
            wait_until(lambda: any(not service.is_ready() for service in clustered.services), "no service notices")
            node.start()
            clustered.store.wait_until_ok()
            feeder.wait_for(20)
    for service in clustered.services:
        wait_until(service.is_ready, "a service does not recover")
    check(clustered.services, TENANTS[0], feeder)
    for tenant in TENANTS[1:]:
        check(clustered.services, tenant, feed(clustered.services, tenant, 5, prefix="since"))


def test_an_emptied_cluster_is_refilled_by_the_services(clustered: Deployment) -> None:
    stood = {tenant: check(clustered.services, tenant).version for tenant in TENANTS}
    with client_of(clustered.url) as client:
        client.flushall(target_nodes=client.ALL_NODES)
    wait_until(lambda: all(version_of(clustered.url, tenant) for tenant in TENANTS), "some tenants are not put back")
    assert {tenant: check(clustered.services, tenant).version for tenant in TENANTS} == stood
