"""POST /features."""

import pytest

from app.features.featurizer import NEWEST, VERSIONS
from app.learning.config import Config
from tests.api.conftest import Service

pytestmark = pytest.mark.anyio


async def test_features_are_shown_as_they_are_read(service: Service) -> None:
    given = {"len": 0.5, "browser": "chrome", "is_bot": False, "is_admin": True}
    answer = await service.client.post("/features", json={"features": given})
    assert answer.status_code == 200
    assert answer.json() == {
        "kind": "features",
        "featurizer": NEWEST,
        "features": {"len": 0.5, "browser=chrome": 1.0, "is_admin": 1.0},
    }
    assert list(answer.json()["features"]) == ["len", "browser=chrome", "is_admin"]


@pytest.mark.parametrize("kind", ["url", "email", "text"])
async def test_an_input_is_turned_into_features(service: Service, kind: str) -> None:
    answer = await service.client.post("/features", json={kind: "Subject: a"})
    shown = answer.json()
    assert (answer.status_code, shown["kind"], shown["featurizer"]) == (200, kind, NEWEST)
    assert shown["features"]
    assert all(isinstance(value, float) for value in shown["features"].values())


async def test_a_mail_may_be_sent_as_it_is(service: Service) -> None:
    mail = b"Subject: hi\r\n\r\nhi\r\n"
    answer = await service.client.post("/features", content=mail, headers={"content-type": "message/rfc822"})
    assert answer.json() == (await service.client.post("/features", json={"email": mail.decode()})).json()
    assert answer.json()["kind"] == "email"


async def test_a_tenant_has_its_own_version(service: Service) -> None:
    tenant = await service.tenants.hold("acme")
    answer = await service.client.post("/features", json={"tenant": "acme", "url": "http://x"})
    assert answer.json()["featurizer"] == VERSIONS[0]
    tenant.state.config = Config(dict(tenant.state.config.values) | {"featurizer": 7})
    answer = await service.client.post("/features", json={"tenant": "acme", "features": {"a": 1}})
    assert answer.json()["featurizer"] == 7


async def test_nothing_is_made_or_stored(service: Service) -> None:
    await service.client.post("/features", json={"url": "http://x"})
    answer = await service.client.post("/features", json={"tenant": "acme", "url": "http://x"})
    assert (answer.status_code, answer.json()["type"]) == (404, "/problems/unknown-tenant")
    assert not service.tenants.tenants


async def test_it_needs_no_store(service: Service) -> None:
    service.tenants.trouble = "Redis is down"
    assert (await service.client.post("/features", json={"url": "http://x"})).status_code == 200


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"url": "x", "explain": 1}, "there is no field 'explain'"),
        ({"features": {"a": None}}, "feature 'a' is null"),
        ({"features": {}}, "empty"),
        ({"tenant": 7, "url": "x"}, "tenant is an integer"),
        ({"tenant": "../x", "url": "x"}, "is not a valid name"),
    ],
)
async def test_what_is_wrong_is_refused(service: Service, body: dict[str, object], sentence: str) -> None:
    answer = await service.client.post("/features", json=body)
    assert answer.status_code == 422
    assert sentence in answer.json()["detail"]
