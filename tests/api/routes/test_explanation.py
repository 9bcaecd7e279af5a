"""POST /tenants/{tenant}/explain."""

import base64

import pytest

from app.telemetry.counters import TenantCounters
from tests.api.conftest import Service
from tests.api.test_authorisation import Guarded, guarded  # noqa: F401 - a fixture

pytestmark = pytest.mark.anyio
PATH = "/tenants/acme/explain"
URL = "http://login.example.org/account/verify?id=7"
MAIL = "From: a@example.org\r\nSubject: Win a prize\r\n\r\nClaim it.\r\n"


async def learn(service: Service, **given: object) -> None:
    answer = await service.client.post("/feedback", json={"tenant": "acme", "label": 1, **given})
    assert answer.status_code == 200


async def test_an_input_is_explained_as_a_kept_prediction_is(service: Service) -> None:
    await learn(service, url=URL)
    found = (await service.client.post(PATH, json={"url": URL, "explain": 4})).json()
    predicted = (await service.client.post("/predict", json={"tenant": "acme", "url": URL, "explain": 4})).json()
    for name in ("label", "score", "probability", "version", "explanation", "algorithm", "tenant"):
        assert found[name] == predicted[name], name
    kept = (await service.client.get(f"/predictions/{predicted['prediction_id']}?tenant=acme&explain=4")).json()
    texts = {each["text"] for each in kept["now"]["reasons"]}
    assert {each["text"] for each in found["reasons"]} >= texts - {"the bias"}
    assert found["input"] == {"kind": "url", "url": URL}
    assert (found["threshold"], found["has_no_opinion"], found["cut"]) == (0.0, False, [])
    assert found["features"] > 10


async def test_places_are_those_of_the_input(service: Service) -> None:
    await learn(service, url=URL)
    found = (await service.client.post(PATH, json={"url": URL, "explain": 100})).json()
    quoted = {each["text"]: [URL[at["start"] : at["end"]] for at in each["places"]] for each in found["reasons"]}
    assert quoted['path word "verify"'] == ["verify"]


@pytest.mark.parametrize("email", [MAIL, {"base64": base64.b64encode(MAIL.encode()).decode()}], ids=["text", "bytes"])
async def test_a_mail_is_shown_by_its_parts(service: Service, email: object) -> None:
    await learn(service, email=email)
    found = (await service.client.post(PATH, json={"email": email})).json()
    assert found["input"]["parts"]["subject"] == "Win a prize"
    assert {at["part"] for each in found["reasons"] for at in each["places"]} <= found["input"]["parts"].keys()


async def test_features_have_reasons_without_places(service: Service) -> None:
    await learn(service, features={"colour": "red", "size": 3})
    found = (await service.client.post(PATH, json={"features": {"colour": "red", "big": True}})).json()
    assert found["input"] is None
    assert found["reasons"]
    assert all(each["places"] == [] for each in found["reasons"])
    assert found["features"] == 2


async def test_what_was_not_read_is_said(service: Service) -> None:
    await learn(service, text="a")
    long = "From: a@example.org\r\nSubject: a\r\n" + "X-A: b\r\n" * 1500 + "\r\nhi\r\n"
    found = (await service.client.post(PATH, json={"email": long})).json()
    assert found["cut"]


async def test_nothing_is_kept_or_counted(service: Service) -> None:
    await learn(service, features={"a": 1})
    held = service.tenants.tenants["acme"]
    held.counter = TenantCounters().of("acme")
    before = (held.state.version, held.state.digest, list(held.counter.series.predictions))
    answer = await service.client.post(PATH, json={"features": {"a": 1}})
    assert answer.headers["cache-control"] == "no-store"
    assert (held.state.version, held.state.digest, list(held.counter.series.predictions)) == before


async def test_the_tenant_must_exist(service: Service) -> None:
    answer = await service.client.post(PATH, json={"text": "hi"})
    assert (answer.status_code, answer.json()["type"]) == (404, "/problems/unknown-tenant")
    assert not service.tenants.tenants


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"url": "x", "explain": 101}, "explain is 101"),
        ({"url": "x", "text": "y"}, "one of url, email and text"),
        ({}, "one of url, email and text"),
        ({"features": {}}, "features"),
        ({"text": ""}, "no features were found in the text"),
        ({"url": "x", "tenant": "acme"}, "'tenant'"),
        ({"email": {"base64": "?"}}, "base64"),
    ],
)
async def test_what_is_wrong_is_refused(service: Service, body: dict[str, object], sentence: str) -> None:
    await learn(service, features={"a": 1})
    answer = await service.client.post(PATH, json=body)
    assert answer.status_code == 422
    assert sentence in answer.json()["detail"]


async def test_another_tenant_is_refused(guarded: Guarded) -> None:  # noqa: F811 - the fixture
    predict, review = await guarded.key("predict"), await guarded.key("review")
    await guarded.tenants.configure("mine", {})
    for path, key, status in (("mine", predict, 200), ("others", predict, 403), ("mine", review, 403)):
        answer = await guarded.ask("POST", f"/tenants/{path}/explain", key, json={"text": "hi"})
        assert answer.status_code == status, path
