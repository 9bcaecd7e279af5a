"""Raw inputs: a URL, an e-mail, a text in the place of features."""

import asyncio
import base64
import threading
from typing import Any

import msgspec
import pytest
from fastapi import FastAPI

from app.api.fast_path.raw_inputs import INLINE_SIZE, kept_form
from app.features.featurizer import KINDS, Kind, features_of
from app.learning.config import Config
from app.learning.example import example_of_json
from tests.api.conftest import LIMITS, Service, new_app, new_backend
from tests.api.exchanges import exchange
from tests.api.fake_pending import FakePending
from tests.api.fakes import FakeFeaturizer, FakeTenants

pytestmark = pytest.mark.anyio
LINES = [(b"content-type", b"application/x-ndjson")]
SAMPLES: dict[Kind, str] = {
    "url": "http://login.example.org/a%20b/verify?id=7&\u00e9",
    "email": 'From: "\u00e9" <a@example.org>\r\nSubject: =?utf-8?q?gr=C3=BC=C3=9Fe?=\r\n\r\nClaim "it" \\ now\r\n',
    "text": 'Claim your \u00e9 "free" prize \\ now',
}
FIELDS: dict[str, dict[str, Any]] = {
    "/predict": {"tenant": "acme"}, "/feedback": {"tenant": "acme", "label": 1}, "/features": {},
}  # fmt: skip
each_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def featurizer() -> FakeFeaturizer:
    return FakeFeaturizer()


@pytest.fixture
def app(tenants: FakeTenants, pending: FakePending, featurizer: FakeFeaturizer) -> FastAPI:
    return new_app(new_backend(tenants, pending, limits=LIMITS, featurize=featurizer))


async def asked(service: Service, route: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = await service.client.post(route, json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


@each_kind
async def test_an_input_is_scored_as_its_features(service: Service, kind: str) -> None:
    features = {f"{kind}:free": 1.0, f"{kind}:prize": 1.0, "v1": 0.5}
    await asked(service, "/feedback", {"tenant": "acme", "features": features, "label": 1})
    by_features = await asked(
        service, "/predict", {"tenant": "acme", "features": features, "explain": 9, "keep": False}
    )
    by_input = await asked(service, "/predict", {"tenant": "acme", kind: "free prize", "explain": 9, "keep": False})
    assert by_input == by_features
    assert by_input["score"] > 0
    assert {each["feature"] for each in by_input["explanation"]} == features.keys()


@each_kind
async def test_an_input_is_learnt_as_its_features(service: Service, kind: str) -> None:
    features = {f"{kind}:free": 1.0, f"{kind}:prize": 1.0, "v1": 0.5}
    by_features = await asked(service, "/feedback", {"tenant": "one", "features": features, "label": 1})
    by_input = await asked(service, "/feedback", {"tenant": "two", kind: "free prize", "label": 1})
    assert without_names(by_input) == without_names(by_features)
    assert service.tenants.tenants["one"].state.digest == service.tenants.tenants["two"].state.digest


@each_kind
async def test_feedback_by_prediction_id_learns_the_scored_features(service: Service, kind: str) -> None:
    predicted = await asked(service, "/predict", {"tenant": "acme", kind: "free prize"})
    service.tenants.tenants["acme"].state.config = with_featurizer(service, 2)  # meanwhile
    given = {"tenant": "acme", "prediction_id": predicted["prediction_id"], "label": 1, "feedback_id": "f1"}
    answer = await asked(service, "/feedback", given)
    assert answer["served"] == {"label": predicted["label"], "score": predicted["score"]}
    assert list(service.tenants.feedback_writer.received[0].example.names) == [f"{kind}:free", f"{kind}:prize", "v1"]


async def test_a_tenant_s_own_version_reads_its_inputs(service: Service) -> None:
    await service.client.put("/tenants/acme")
    service.tenants.tenants["acme"].state.config = with_featurizer(service, 2)
    await asked(service, "/feedback", {"tenant": "acme", "text": "x", "label": 1})
    assert list(service.tenants.feedback_writer.received[0].example.names) == ["text:x", "v2"]
    predicted = await asked(service, "/predict", {"tenant": "acme", "text": "x", "explain": 2})
    assert {each["feature"] for each in predicted["explanation"]} == {"text:x", "v2"}


@each_kind
@pytest.mark.parametrize("route", ["/predict", "/feedback", "/features"])
async def test_the_answer_names_the_parts_that_were_not_read(
    service: Service, featurizer: FakeFeaturizer, route: str, kind: str
) -> None:
    featurizer.longest = 5
    body = FIELDS[route] | {kind: "12345 and more"}
    assert (await asked(service, route, body))["cut"] == ["what comes after 5 characters"]
    assert "cut" not in await asked(service, route, body | {kind: "12345"})


@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize("route", ["/predict/batch", "/feedback/batch"])
async def test_items_of_a_batch_may_be_raw(
    service: Service, featurizer: FakeFeaturizer, route: str, lines: bool
) -> None:
    featurizer.longest = 5
    label = {"label": 1} if route == "/feedback/batch" else {}
    items = [
        {kind: text} | label
        for kind, text in (("url", "12345"), ("features", {"a": 1}), ("email", "12345 and more"), ("text", "1 2"))
    ]
    body, headers = msgspec.json.encode({"tenant": "acme", "items": items}), []
    if lines:
        body, headers = msgspec.json.Encoder().encode_lines(items), LINES
    sent = await exchange(service.app, route, [body], headers, query=b"tenant=acme")
    results = sent.lines() if lines else sent.json()["results"]
    assert ["error" in each for each in results] == [False] * 4
    assert [each.get("cut") for each in results] == [None, None, ["what comes after 5 characters"], None]
    if label:
        received = [list(each.example.names) for each in service.tenants.feedback_writer.received]
        assert received == [["url:12345", "v1"], ["a"], ["email:12345", "v1"], ["text:1", "text:2", "v1"]]


async def test_a_raw_item_of_a_batch_can_be_recalled(service: Service) -> None:
    batch = await asked(service, "/predict/batch", {"tenant": "acme", "items": [{"url": "a b"}]})
    given = {"tenant": "acme", "prediction_id": batch["results"][0]["prediction_id"], "label": 1}
    await asked(service, "/feedback", given)
    assert list(service.tenants.feedback_writer.received[-1].example.names) == ["url:a", "url:b", "v1"]


@pytest.mark.parametrize("size", [INLINE_SIZE, INLINE_SIZE + 1])
@pytest.mark.parametrize("route", ["/predict", "/feedback", "/features"])
async def test_a_long_input_is_read_off_the_event_loop(
    service: Service, featurizer: FakeFeaturizer, route: str, size: int
) -> None:
    body = FIELDS[route] | {"text": size * "x"}
    await asked(service, route, body)
    assert (threading.get_ident() in featurizer.threads) == (size <= INLINE_SIZE)


async def test_a_retry_with_the_raw_input_is_learnt_once(service: Service) -> None:
    given = {"tenant": "acme", "url": "a b", "label": 1, "feedback_id": "f1"}
    first = await asked(service, "/feedback", given)
    assert await asked(service, "/feedback", given) == first | {"duplicate": True}


@pytest.mark.parametrize("raw", [b"", b"Subject: hi\r\n\r\n\xff\xfe\x00", bytes(range(256))])
async def test_a_mail_may_be_sent_as_base64(service: Service, featurizer: FakeFeaturizer, raw: bytes) -> None:
    await asked(service, "/predict", {"tenant": "acme", "email": {"base64": base64.b64encode(raw).decode()}})
    assert featurizer.asked == [("email", raw)]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"email": {"base64": "*"}}, "email.base64 must be a string, the e-mail as base64"),
        ({"email": {"base64": "aGk"}}, "email.base64 must be a string, the e-mail as base64"),
        ({"email": {"base64": 7}}, "email.base64 is an integer; it must be a string"),
        ({"email": {}}, "email.base64 is missing"),
        ({"email": {"base64": "", "charset": "x"}}, "there is no field 'email.charset'; the fields are base64"),
        ({"email": ["x"]}, "email is an array; it must be a string or"),
        ({"url": 7}, "url is an integer; it must be a string"),
        ({"text": None}, "text is null; it must be a string"),
        ({"url": "x", "text": "x"}, "both 'url' and 'text' are given; send features, one of url, email, text, or both"),
        ({"url": "x", "text": "x", "features": {"a": 1}}, "both 'url' and 'text' are given"),
        ({}, "no input is given; send features, one of url, email, text, or both"),
    ],
    ids=str,
)
@pytest.mark.parametrize("route", ["/predict", "/feedback", "/features"])
async def test_what_is_wrong_is_refused_with_a_sentence(
    service: Service, route: str, given: dict[str, Any], sentence: str
) -> None:
    label = {"label": 1} if route == "/feedback" else {}
    await service.client.put("/tenants/acme")
    answer = await service.client.post(route, json={"tenant": "acme"} | label | given)
    assert (answer.status_code, answer.json()["type"]) == (422, "/problems/bad-input")
    assert sentence in answer.json()["detail"]


async def test_too_many_features_of_an_input_are_refused(service: Service) -> None:
    many = " ".join(str(number) for number in range(100_001))
    answer = await service.client.post("/predict", json={"tenant": "acme", "text": many})
    assert answer.status_code == 413
    assert "SLUICE_MAX_FEATURES_PER_EXAMPLE" in answer.json()["detail"]


async def test_an_input_in_which_nothing_is_found_is_refused(tenants: FakeTenants, pending: FakePending) -> None:
    app = new_app(new_backend(tenants, pending, limits=LIMITS))
    sent = await exchange(app, "/predict", [b'{"tenant": "acme", "text": ""}'])
    assert (sent.status, sent.json()["type"]) == (422, "/problems/bad-features")
    assert sent.json()["detail"] == "no features were found in the text"


async def test_many_raw_items_yield_to_other_requests(service: Service) -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    other = asyncio.create_task(count())
    items = [{"text": " ".join(f"word{k}" for k in range(5000))}] * 60  # one slice of a batch
    await asked(service, "/predict/batch", {"tenant": "acme", "items": items})
    other.cancel()
    assert turns > 10


@each_kind
def test_the_kept_form_gives_the_same_example(kind: Kind) -> None:
    example = features_of(kind, SAMPLES[kind], 1).example
    again = example_of_json(msgspec.json.decode(kept_form(example), type=dict[str, msgspec.Raw])["features"])
    assert again.keys.tobytes() == example.keys.tobytes()
    assert again.values.tobytes() == example.values.tobytes()
    assert list(again.names) == list(example.names)


def with_featurizer(service: Service, version: int) -> Config:
    return Config(dict(service.tenants.tenants["acme"].state.config.values) | {"featurizer": version})


def without_names(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name not in {"tenant", "feedback_id"}}
