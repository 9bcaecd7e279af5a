"""Tenants are loaded once when they are needed, and evicted when memory is short."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.reliability.deployments import Deployment, deployment
from tests.reliability.oracle import check
from tests.reliability.traffic import feed
from tests.services import Service, new_client

pytestmark = pytest.mark.timeout(60)

BUDGET = 16 << 20  # the lowest valid value
FEATURES = 6000  # of each tenant


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployment("embedded", tmp_path_factory.mktemp("memory"), memory_budget_bytes=BUDGET) as made:
        yield made


def loaded(service: Service) -> set[str]:
    """Return the names of the tenants in memory."""
    listed = service.request("GET", "/tenants?limit=1000").json()["tenants"]
    return {each["tenant"] for each in listed if each["loaded"]}


def test_tenants_are_evicted_least_recently_used_first_and_reloaded_unchanged(deployed: Deployment) -> None:
    (service,) = deployed.services
    features = {f"feature-{k}": 1 + k % 7 for k in range(FEATURES)}
    stood = {}
    for number in range(50):
        tenant = f"large-{number:02}"
        service.feedback(tenant, features=features, label=1, feedback_id="first").raise_for_status()
        service.feedback(tenant, features={"feature-1": number + 1}, label=-1).raise_for_status()
        stood[tenant] = service.tenant(tenant)
        service.predict("large-00", features={"feature-1": 1})  # recently used
    assert sum(shown["memory_bytes"] for shown in stood.values()) > BUDGET
    assert sum(stood[name]["memory_bytes"] for name in loaded(service)) <= BUDGET
    assert {"large-00", "large-49"} <= loaded(service)
    assert "large-01" not in loaded(service)
    for tenant in ("large-01", "large-25", "large-00"):
        shown = service.tenant(tenant)
        assert (shown["version"], shown["digest"]) == (stood[tenant]["version"], stood[tenant]["digest"])
        assert service.feedback(tenant, features=features, label=1, feedback_id="first").json()["duplicate"]
        check([service], tenant)


def test_many_first_requests_at_once_find_the_same_tenant(deployed: Deployment) -> None:
    (service,) = deployed.services
    feed([service], "acme", 50)
    stood = service.tenant("acme")
    service.kill()
    service.start()
    together = threading.Barrier(16)

    def ask(_: int) -> tuple[int, str]:
        with new_client() as client:
            together.wait(10)
            shown = client.get(f"{service.url}/tenants/acme").json()
            return shown["version"], shown["digest"]

    with ThreadPoolExecutor(16) as threads:
        assert set(threads.map(ask, range(16))) == {(stood["version"], stood["digest"])}
    check([service], "acme", feed([service], "acme", 20, prefix="since"))
