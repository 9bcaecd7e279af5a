"""Bodies of the type message/rfc822: a mail as it is, its fields in the query."""

from dataclasses import replace
from typing import Any

import pytest
from fastapi import FastAPI

from tests.api.conftest import LIMITS, Service, new_app, new_backend
from tests.api.exchanges import exchange
from tests.api.fake_pending import FakePending
from tests.api.fakes import FakeFeaturizer, FakeTenants

pytestmark = pytest.mark.anyio
MAIL = b"Subject: free prize\r\n\r\n\xff\xfe\x00 {not json\r\n"
TYPE = {"content-type": "message/rfc822"}


@pytest.fixture
def featurizer() -> FakeFeaturizer:
    return FakeFeaturizer()


@pytest.fixture
def app(tenants: FakeTenants, pending: FakePending, featurizer: FakeFeaturizer) -> FastAPI:
    limits = replace(LIMITS, max_body_bytes=1000, max_mail_bytes=2000)
    return new_app(new_backend(tenants, pending, limits=limits, featurize=featurizer))


async def test_a_mail_is_scored_as_it_is(service: Service, featurizer: FakeFeaturizer) -> None:
    answer = await service.client.post("/predict?tenant=acme", content=MAIL, headers=TYPE)
    assert answer.status_code == 200
    assert answer.json()["prediction_id"] == "kept-0"
    assert featurizer.asked == [("email", MAIL)]


async def test_the_fields_are_in_the_query(service: Service) -> None:
    given = await service.client.post(
        "/feedback?tenant=acme&label=-1&feedback_id=ticket%2047&moderator=kim", content=MAIL, headers=TYPE
    )
    assert (given.json()["label"], given.json()["feedback_id"]) == (-1, "ticket 47")
    assert service.tenants.feedback_writer.received[0].moderator == "kim"
    answer = await service.client.post("/predict?tenant=acme&explain=2&keep=false", content=MAIL, headers=TYPE)
    assert answer.json()["prediction_id"] is None
    assert len(answer.json()["explanation"]) == 2


async def test_a_mail_equals_its_base64(service: Service) -> None:
    mail = await service.client.post("/predict?tenant=acme&keep=false", content=b"hi\r\n", headers=TYPE)
    asked = {"tenant": "acme", "email": {"base64": "aGkNCg=="}, "keep": False}
    assert mail.json() == (await service.client.post("/predict", json=asked)).json()


async def test_a_retry_by_the_idempotency_key_is_learnt_once(service: Service) -> None:
    headers = TYPE | {"Idempotency-Key": "k1"}
    first, second = [
        (await service.client.post("/feedback?tenant=acme&label=1", content=MAIL, headers=headers)).json()
        for _ in range(2)
    ]
    assert (first["feedback_id"], first["duplicate"], second["duplicate"]) == ("k1", False, True)


@pytest.mark.parametrize("kind", ["message/rfc822", "Message/RFC822", "message/rfc822; charset=utf-8"])
async def test_the_type_may_be_spelled_otherwise(service: Service, kind: str) -> None:
    answer = await service.client.post("/predict?tenant=acme", content=MAIL, headers={"content-type": kind})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        ("/predict", "the query parameter 'tenant' is missing"),
        ("/predict?tenant=../x", "is not a valid name"),
        ("/predict?tenant=", "is not a valid name"),
        ("/predict?tenant=acme&explain=101", "explain is '101'; it must be a whole number from 0 to 100"),
        ("/predict?tenant=acme&explain=-1", "explain is '-1'"),
        ("/predict?tenant=acme&keep=no", "keep is 'no'; it must be true or false"),
        ("/predict?tenant=acme&label=1", "the route has no query parameter 'label'; it has tenant, explain, keep"),
        ("/predict?tenant=acme&tenant=acme", "given more than once"),
        ("/feedback?tenant=acme", "the query parameter 'label' is missing"),
        ("/feedback?label=1", "the query parameter 'tenant' is missing"),
        ("/feedback?tenant=acme&label=0", "label is '0'; it must be 1 (anomaly) or -1 (normal)"),
        ("/feedback?tenant=acme&label=+1", "label is ' 1'"),
        ("/feedback?tenant=acme&label=1&feedback_id=", "feedback_id is ''"),
        ("/feedback?tenant=acme&label=1&moderator=%0a", "moderator"),
        ("/feedback?tenant=acme&label=1&prediction_id=x", "no query parameter 'prediction_id'"),
        ("/features?tenant=../x", "is not a valid name"),
        ("/features?explain=1", "no query parameter 'explain'"),
    ],
)
async def test_what_is_wrong_is_refused_by_its_name(service: Service, where: str, sentence: str) -> None:
    answer = await service.client.post(where, content=MAIL, headers=TYPE)
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    assert sentence in answer.json()["detail"]
    assert service.tenants.feedback_writer.calls == []


@pytest.mark.parametrize("where", ["/predict?tenant=acme", "/feedback?tenant=acme&label=1", "/features"])
async def test_a_mail_has_a_separate_limit(service: Service, where: str) -> None:
    fits = await service.client.post(where, content=2000 * b"x", headers=TYPE)
    longer = await service.client.post(where, content=2001 * b"x", headers=TYPE)
    assert (fits.status_code, longer.status_code) == (200, 413)
    assert "the limit is 2,000 bytes (SLUICE_MAX_MAIL_BYTES)" in longer.json()["detail"]


async def test_a_mail_may_arrive_in_chunks(app: FastAPI, featurizer: FakeFeaturizer) -> None:
    headers = [(b"content-type", b"message/rfc822")]
    sent = await exchange(app, "/predict", [b"Subject: a", b"\r\n\r\n", b"b"], headers, query=b"tenant=acme")
    assert sent.status == 200
    assert featurizer.asked == [("email", b"Subject: a\r\n\r\nb")]


async def test_a_compressed_mail_is_refused(service: Service) -> None:
    headers = TYPE | {"content-encoding": "gzip"}
    answer = await service.client.post("/predict?tenant=acme", content=MAIL, headers=headers)
    assert answer.status_code == 415


@pytest.mark.parametrize("route", ["/predict/batch", "/feedback/batch"])
async def test_mails_are_only_read_one_by_one(service: Service, route: str) -> None:
    answer = await service.client.post(f"{route}?tenant=acme", content=MAIL, headers=TYPE)
    assert answer.status_code == 415


@pytest.mark.parametrize(
    ("route", "body"),
    [
        ("/predict", {"tenant": "acme", "features": {"a": 1}}),
        ("/feedback", {"tenant": "acme", "features": {"a": 1}, "label": 1}),
        ("/features", {"features": {"a": 1}}),
    ],
)
async def test_json_has_nothing_in_the_query(service: Service, route: str, body: dict[str, Any]) -> None:
    answer = await service.client.post(f"{route}?tenant=acme", json=body)
    assert answer.status_code == 422
    assert "query parameters are for message/rfc822 only" in answer.json()["detail"]
