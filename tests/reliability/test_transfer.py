"""An exported tenant in another service on another store has the same digest and the same scores."""

from collections.abc import Iterator

import pytest

from tests.reliability.deployments import SERVER, Deployment, deployment
from tests.reliability.oracle import check
from tests.reliability.traffic import feed, feedback
from tests.services import Service

pytestmark = pytest.mark.timeout(60)

BINARY = {"content-type": "application/octet-stream"}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployment("embedded", tmp_path_factory.mktemp("here")) as made:
        yield made


@pytest.fixture(scope="module", params=[SERVER])
def there(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployment(request.param, tmp_path_factory.mktemp("there")) as made:
        yield made


def score(service: Service, tenant: str, k: int) -> tuple[float, int]:
    predicted = service.predict(tenant, features=feedback(k)["features"]).json()
    return predicted["score"], predicted["label"]


@pytest.mark.parametrize("algorithm", ["cs-ssol", "cs-fsol", "ftrl"])
def test_an_imported_tenant_is_identical_and_learns_identically(
    here: Deployment, there: Deployment, algorithm: str
) -> None:
    (old,), (new,) = here.services, there.services
    name = f"with-{algorithm}"
    old.request("PUT", f"/tenants/{name}", json={"algorithm": algorithm, "threshold": 0.01}).raise_for_status()
    feed([old], name, 150)
    model = old.request("GET", f"/tenants/{name}/export")
    model.raise_for_status()
    imported = new.request("POST", f"/tenants/{name}/import", content=model.content, headers=BINARY)
    imported.raise_for_status()
    assert imported.json() == old.tenant(name) | {"memory_bytes": imported.json()["memory_bytes"]}
    assert [score(new, name, k) for k in range(30)] == [score(old, name, k) for k in range(30)]
    for service in (old, new):
        for k in range(1000, 1020):
            service.feedback(name, **feedback(k)).raise_for_status()
    assert new.digest(name) == old.digest(name)
    check([new], name)


def test_an_import_replaces_a_tenant_only_with_replace(here: Deployment, there: Deployment) -> None:
    (old,), (new,) = here.services, there.services
    feed([old], "taken", 10)
    feed([new], "taken", 20)
    stood = new.tenant("taken")
    model = old.request("GET", "/tenants/taken/export").content
    refused = new.request("POST", "/tenants/taken/import", content=model, headers=BINARY)
    assert refused.status_code == 409
    assert new.tenant("taken") == stood
    new.request("POST", "/tenants/taken/import?replace=true", content=model, headers=BINARY).raise_for_status()
    assert new.digest("taken") == old.digest("taken")
    new.kill()
    new.start()
    check([new], "taken", feed([new], "taken", 20))


def test_a_damaged_file_is_refused_and_changes_nothing(here: Deployment, there: Deployment) -> None:
    (old,), (new,) = here.services, there.services
    feed([old], "fragile", 30)
    model = bytearray(old.request("GET", "/tenants/fragile/export").content)
    model[-5] ^= 1
    refused = new.request("POST", "/tenants/fragile/import", content=bytes(model), headers=BINARY)
    assert refused.status_code == 422
    assert refused.json()["type"] == "/problems/bad-model"
    assert new.status("/tenants/fragile") == 404
