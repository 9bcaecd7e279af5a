"""A primary fails: Sentinel promotes the replica, or the node of a cluster is restarted; no label is lost."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx
import pytest

from tests.reliability.deployments import Deployment, deployment
from tests.reliability.oracle import check, check_once, client_of, stored_log, version_of, wait_for_labels
from tests.reliability.traffic import Feeder, feed, feedback
from tests.servers import ClusterOfThree, SentinelSetup
from tests.services import Service, wait_until

pytestmark = pytest.mark.timeout(60)

SOME = 100
BUDGET = 16 << 20  # the lowest valid value
FEATURES = 12_000  # of each of the tenants that fill it
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
        deployed.store.cut_replica_off()
        missed = feed(deployed.services, "acme", 20, prefix="missed")
        stood = check(deployed.services, "acme", before, missed).version
        deployed.store.promote_replica()
        wait_until(lambda: version_of(deployed.url, "acme") == stood, "the events are not appended again", 30)
        since = feed(deployed.services, "acme", 20, prefix="since")
        check(deployed.services, "acme", before, missed, since)
        assert any("events; they were appended again" in service.log() for service in deployed.services)
        assert list(tmp_path.glob("*/data/rescued/*")) == []


@pytest.mark.e2e
@pytest.mark.parametrize("is_asked", [False, True], ids=["never asked again", "asked again"])
def test_events_of_evicted_tenants_are_appended_again(tmp_path: Path, *, is_asked: bool) -> None:
    """Large tenants have taken the memory before a replica that is behind is promoted."""
    names = [f"evicted-{k}" for k in range(40)]
    with deployment("sentinel", tmp_path, number=2, memory_budget_bytes=BUDGET) as deployed:
        assert isinstance(deployed.store, SentinelSetup)
        before = {name: give_each(deployed.services[0], name, "before", 3) for name in names}
        deployed.store.cut_replica_off()
        missed = {name: give_each(deployed.services[k % 2], name, "missed", 5) for k, name in enumerate(names)}
        for service in deployed.services:
            evict_all(service)
        deployed.store.promote_replica()
        if is_asked:
            wait_until(lambda: all(serves(deployed.services[1], name) for name in names), "some are not served", 40)
        wait_until(lambda: all(version_of(deployed.url, name) == 9 for name in names), "events are lost", 40)
        for name in names:
            log = stored_log(deployed.url, name)
            log.check_order()
            assert sorted(log.feedback_ids.elements()) == sorted(before[name] + missed[name])


@pytest.mark.e2e
def test_what_was_deleted_or_replaced_does_not_come_back(tmp_path: Path) -> None:
    with deployment("sentinel", tmp_path, number=2, auto_create_tenants=False) as deployed:
        assert isinstance(deployed.store, SentinelSetup)
        one, other = deployed.services
        for name in ("deleted", "replaced", "again", "model"):
            one.request("PUT", f"/tenants/{name}", json={}).raise_for_status()
            give_each(one, name, "first", 4)
        give_each(one, "model", "more", 20)
        model = one.request("GET", "/tenants/model/export").content
        deployed.store.cut_replica_off()
        for name in ("deleted", "again"):
            other.request("DELETE", f"/tenants/{name}").raise_for_status()
        kind = {"content-type": "application/octet-stream"}
        one.request("POST", "/tenants/replaced/import?replace=true", content=model, headers=kind).raise_for_status()
        for name in ("again", "new"):
            one.request("PUT", f"/tenants/{name}", json={}).raise_for_status()
        given = {name: give_each(one, name, "second", 3) for name in ("again", "new", "replaced")}
        stood = {name: one.digest(name) for name in given}
        deployed.store.promote_replica()
        wait_until(lambda: listed(other) == ["again", "model", "new", "replaced"], "the list is not as before", 30)
        for service in deployed.services:
            assert service.status("/tenants/deleted") == httpx.codes.NOT_FOUND
            assert {name: service.digest(name) for name in given} == stood
        for name, ids in given.items():
            again = [
                deployed.services[k % 2].feedback(name, feedback_id=each, **feedback(k)) for k, each in enumerate(ids)
            ]
            assert [answer.json()["duplicate"] for answer in again] == [True] * 3
        assert list(tmp_path.glob("*/data/rescued/*")) == []


def listed(service: Service) -> list[str]:
    """Return the names of all tenants."""
    answer = service.request("GET", "/tenants?limit=1000")
    return [each["tenant"] for each in answer.json()["tenants"]] if answer.status_code == httpx.codes.OK else []


def serves(service: Service, tenant: str) -> bool:
    return service.status(f"/tenants/{tenant}") == httpx.codes.OK


def evict_all(service: Service) -> None:
    """Fill the memory of a service with other tenants."""
    features = {f"feature-{k}": 1 for k in range(FEATURES)}
    for k in range(25):
        service.feedback(f"large-{k}", features=features, label=1).raise_for_status()
    listed = service.request("GET", "/tenants?limit=1000").json()["tenants"]
    assert [each["tenant"] for each in listed if each["loaded"] and not each["tenant"].startswith("large")] == []


def give_each(service: Service, tenant: str, prefix: str, number: int) -> list[str]:
    """Give labels until each is acknowledged; return their ids."""
    names = [f"{prefix}-{k}" for k in range(number)]
    for k, name in enumerate(names):
        wait_until(partial(is_learnt, service, tenant, name, k), "a label is not acknowledged")
    return names


def is_learnt(service: Service, tenant: str, feedback_id: str, number: int) -> bool:
    """Give a label; False if it has to be given again, as while a tenant that was replaced is loaded."""
    answer = service.feedback(tenant, feedback_id=feedback_id, **feedback(number))
    assert answer.status_code in {httpx.codes.OK, httpx.codes.SERVICE_UNAVAILABLE}, answer.text
    return answer.status_code == httpx.codes.OK


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
