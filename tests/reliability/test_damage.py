"""A damaged tenant does not affect the other tenants."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from app.storage.redis_keys import TenantKeys, keys_of
from tests.reliability.deployments import SERVER, Deployment, deployment
from tests.reliability.oracle import check, client_of, stored_log
from tests.reliability.traffic import feed, feedback
from tests.services import Service, wait_until

pytestmark = pytest.mark.timeout(60)
numbers = count()

GARBAGE = b"\x00 not a snapshot \xff"
Damage = Callable[[Any, TenantKeys], None]  # with a client of the store


def in_all(kind: str) -> Damage:
    def damage(client: Any, keys: TenantKeys) -> None:  # noqa: ANN401 - a client of any store
        name = getattr(keys, kind)
        client.hset(name, mapping=dict.fromkeys(client.hkeys(name), GARBAGE))

    return damage


def of_wrong_type(kind: str) -> Damage:
    def damage(client: Any, keys: TenantKeys) -> None:  # noqa: ANN401 - a client of any store
        client.delete(getattr(keys, kind))
        client.set(getattr(keys, kind), GARBAGE)

    return damage


def no_number(client: Any, keys: TenantKeys) -> None:  # noqa: ANN401 - a client of any store
    client.hset(keys.meta, "version", "many")


def newest_header(client: Any, keys: TenantKeys) -> None:  # noqa: ANN401 - a client of any store
    client.hset(keys.headers, max(client.hkeys(keys.headers), key=int), GARBAGE)


def foreign_header(client: Any, keys: TenantKeys) -> None:  # noqa: ANN401 - a client of any store
    foreign = keys_of("healthy").headers
    (header,) = client.hvals(foreign)
    client.hset(keys.headers, max(client.hkeys(keys.headers), key=int), header)


BEYOND_REPAIR = {
    "headers": in_all("headers"),
    "chunks": in_all("chunks"),
    "type-of-headers": of_wrong_type("headers"),
    "type-of-log": of_wrong_type("log"),
    "type-of-meta": of_wrong_type("meta"),
    "version": no_number,
}
REPAIRABLE = {"newest-header": newest_header, "foreign-header": foreign_header}
IN_MEMORY = {f"held-{name}": BEYOND_REPAIR[name] for name in ("type-of-log", "type-of-meta", "version")}


@pytest.fixture(scope="module", params=[SERVER])
def deployed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Start a service on a store in which many tenants are damaged, each in another way."""
    little = {"snapshots_kept": 2, "log_retention_events": 0}
    with deployment(request.param, tmp_path_factory.mktemp("damage"), **little) as made:
        (service,) = made.services
        feed([service], "healthy", 20)
        service.post("/tenants/healthy/snapshot", None).raise_for_status()
        for tenant in (*BEYOND_REPAIR, *REPAIRABLE):
            take_snapshots(service, tenant)
        assert stored_log(made.url, "headers").entries[0][0] > 1  # trimmed: without a snapshot it cannot be rebuilt
        service.kill()
        for tenant, damage in (BEYOND_REPAIR | REPAIRABLE).items():
            with client_of(made.url) as client:
                damage(client, keys_of(tenant))
        service.start()
        made.new_service().start()
        yield made


@pytest.fixture
def service(deployed: Deployment) -> Iterator[Service]:
    """Return the service; after the test, check that another tenant still learns, here and through a replica."""
    service, other = deployed.services
    yield service
    check(deployed.services, "healthy", feed(deployed.services, "healthy", 20, prefix=f"on-{next(numbers)}"))
    feed([other], "healthy", 5, prefix=f"other-{next(numbers)}")
    check(deployed.services, "healthy")
    assert service.is_ready()


def take_snapshots(service: Service, tenant: str) -> None:
    """Give feedback with snapshots in between, so that the log is trimmed."""
    items = [feedback(k) for k in range(15)]
    for _ in range(3):
        service.post("/feedback/batch", {"tenant": tenant, "items": items}).raise_for_status()
        service.post(f"/tenants/{tenant}/snapshot", None).raise_for_status()
    service.post("/feedback/batch", {"tenant": tenant, "items": items}).raise_for_status()


@pytest.mark.parametrize("tenant", BEYOND_REPAIR)
def test_a_tenant_that_cannot_be_rebuilt_gets_503_and_the_others_work(service: Service, tenant: str) -> None:
    for refused in (
        service.predict(tenant, features={"word:1": 1}),
        service.feedback(tenant, **feedback(1)),
        service.request("GET", f"/tenants/{tenant}"),
    ):
        assert refused.status_code == 503, refused.text
        assert refused.headers["content-type"] == "application/problem+json"
        assert refused.json()["type"] == "/problems/tenant-damaged"
        assert tenant in refused.json()["detail"]
    assert tenant in service.readiness()["tenants"]["detail"]


@pytest.mark.parametrize("tenant", REPAIRABLE)
def test_a_snapshot_that_cannot_be_used_is_set_aside_for_the_one_before_it(
    deployed: Deployment, service: Service, tenant: str
) -> None:
    assert service.tenant(tenant)["version"] == 61  # with its first settings
    assert f"tenant {tenant}: snapshot 46 is set aside" in service.log()
    with client_of(deployed.url) as client:
        assert client.hkeys(keys_of(tenant).aside) == [b"46"]
    check(deployed.services, tenant, feed(deployed.services, tenant, 10))


@pytest.mark.parametrize("tenant", IN_MEMORY)
def test_damage_to_a_tenant_in_memory_leaves_the_others_alone(
    deployed: Deployment, service: Service, tenant: str
) -> None:
    feed([service], tenant, 10)
    with client_of(deployed.url) as client:
        IN_MEMORY[tenant](client, keys_of(tenant))
    refused = service.feedback(tenant, **feedback(1))
    assert refused.status_code == 503, refused.text
    assert refused.json()["type"] == "/problems/tenant-damaged"
    assert service.predict(tenant, features={"word:1": 1}).status_code == 200  # from memory
    assert service.request("GET", "/tenants").status_code == 200


def test_a_tenant_at_its_feature_limit_continues_to_learn(deployed: Deployment, service: Service) -> None:
    service.request("PUT", "/tenants/full", json={"max_features": 20}).raise_for_status()
    check(deployed.services, "full", feed(deployed.services, "full", 60))
    assert service.tenant("full")["features"] == 20
    assert service.tenant("full")["dropped_features"] > 0


def test_a_damaged_tenant_can_be_deleted_and_created_again(deployed: Deployment, service: Service) -> None:
    service.request("DELETE", "/tenants/headers").raise_for_status()
    wait_until(lambda: service.status("/tenants/headers") == 404, "it still exists")
    check(deployed.services, "headers", feed(deployed.services, "headers", 10))


def test_a_damaged_tenant_recovers_once_its_data_is_repaired(deployed: Deployment, service: Service) -> None:
    assert service.status("/tenants/version") == 503
    with client_of(deployed.url) as client:
        client.hset(keys_of("version").meta, "version", 61)
    wait_until(lambda: service.status("/tenants/version") == 200, "a repaired tenant stays damaged")
    check(deployed.services, "version", feed(deployed.services, "version", 10))
