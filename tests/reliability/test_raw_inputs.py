"""URLs, e-mails and texts through a real service: from the first prediction to readable weights."""

import threading
from collections.abc import Iterator
from itertools import count
from typing import Any

import httpx
import pytest

from app.features.featurizer import KINDS
from tests.services import Service, new_client

pytestmark = pytest.mark.timeout(90)
numbers = count()
INPUTS: dict[str, Any] = {
    "url": "http://login.example.org/account/verify?id=7",
    "email": "From: a@example.org\r\nSubject: prize\r\n\r\nClaim your prize at http://x.example/ now \u00e9\r\n",
    "text": "Claim your free prize now \u00e9",
}
each_kind = pytest.mark.parametrize("kind", KINDS)
MAIL_TYPE = {"content-type": "message/rfc822"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("raw")).start() as started:
        yield started


@pytest.fixture
def tenant() -> str:
    return f"tenant-{next(numbers)}"


def answered(answer: httpx.Response) -> dict[str, Any]:
    assert answer.status_code == httpx.codes.OK, answer.text
    found: dict[str, Any] = answer.json()
    return found


@each_kind
def test_an_input_is_learnt_by_its_prediction_id_and_explained_by_readable_names(
    service: Service, tenant: str, kind: str
) -> None:
    given = {kind: INPUTS[kind]}
    before = answered(service.predict(tenant, **given))
    learnt = answered(service.feedback(tenant, prediction_id=before["prediction_id"], label=1))
    assert learnt["served"] == {"label": before["label"], "score": before["score"]}
    after = answered(service.predict(tenant, **given, explain=100))
    assert (after["label"], after["version"]) == (1, before["version"] + 1)
    features = answered(service.post("/features", {"tenant": tenant} | given))["features"]
    assert {each["feature"] for each in after["explanation"]} <= features.keys()
    weights = answered(service.request("GET", f"/tenants/{tenant}/weights?top=10000"))["weights"]
    assert weights
    assert {each["feature"] for each in weights} <= features.keys()


@each_kind
def test_the_features_that_are_shown_are_those_that_are_learnt(service: Service, tenant: str, kind: str) -> None:
    features = answered(service.post("/features", {kind: INPUTS[kind]}))["features"]
    for name in (tenant, f"{tenant}-raw"):
        answered(service.request("PUT", f"/tenants/{name}", json={"numbers": "raw"}))
    answered(service.feedback(tenant, features=features, label=1))
    answered(service.feedback(f"{tenant}-raw", **{kind: INPUTS[kind]}, label=1))
    assert service.digest(tenant) == service.digest(f"{tenant}-raw")


@each_kind
def test_a_retry_may_give_the_input_instead_of_the_prediction(service: Service, tenant: str, kind: str) -> None:
    given = {kind: INPUTS[kind]}
    prediction_id = answered(service.predict(tenant, **given))["prediction_id"]
    first = answered(service.feedback(tenant, prediction_id=prediction_id, label=1, feedback_id="f1"))
    again = answered(service.feedback(tenant, **given, label=1, feedback_id="f1"))
    assert (again["duplicate"], again["version"]) == (True, first["version"])
    other = service.feedback(tenant, **{kind: f"{INPUTS[kind]} other"}, label=1, feedback_id="f1")
    assert other.status_code == httpx.codes.CONFLICT


def test_a_raw_mail_and_its_json_form_are_the_same_feedback(service: Service, tenant: str) -> None:
    raw = INPUTS["email"].encode()
    where = f"/feedback?tenant={tenant}&label=1&feedback_id=f1"
    answered(service.request("POST", where, content=raw, headers=MAIL_TYPE))
    again = answered(service.feedback(tenant, email=INPUTS["email"], label=1, feedback_id="f1"))
    assert again["duplicate"]


def test_a_mail_of_25_megabytes_is_scored_while_others_are_served(service: Service, tenant: str) -> None:
    head = b'Subject: big\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\n\r\nhi\r\n'
    attached = b"--b\r\nContent-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64\r\n\r\n"
    mail = head + attached + (b"QUJD" * 19 + b"\r\n") * 320_500 + b"--b--\r\n"
    assert 24_900_000 < len(mail) < 25_100_000
    found: list[httpx.Response] = []

    def send() -> None:
        with new_client() as client:
            where = f"{service.url}/predict?tenant={tenant}&explain=5"
            found.append(client.post(where, content=mail, headers=MAIL_TYPE, timeout=60.0))

    sending = threading.Thread(target=send)
    sending.start()
    others = 0
    while sending.is_alive():
        answered(service.predict(tenant, features={"a": 1}))
        others += 1
    sending.join()
    assert answered(found[0])["prediction_id"]
    assert others > 1


def test_the_featurizer_is_shown_and_can_be_set(service: Service, tenant: str) -> None:
    answered(service.request("PUT", f"/tenants/{tenant}", json={"featurizer": 1}))
    shown = service.tenant(tenant)
    assert (shown["config"]["featurizer"], shown["version"]) == (1, 1)
    refused = service.request("PUT", f"/tenants/{tenant}", json={"featurizer": 1_000_000})
    assert (refused.status_code, refused.json()["type"]) == (422, "/problems/bad-setting")
    assert "featurizer is 1000000; it must be a version of the featurizer: 1" in refused.json()["detail"]
