"""Features beside a raw input, and numbers that are encoded."""

from typing import Any

import msgspec
import pytest

from app.features.featurizer import KINDS
from tests.api.conftest import Service
from tests.api.exchanges import exchange

pytestmark = pytest.mark.anyio
LINES = [(b"content-type", b"application/x-ndjson")]
NOTE = "Claim your free prize now http://example.org/a"
MIXED: dict[str, Any] = {"features": {"amount": 1500, "hour": 3, "is_new": True, "chars:free": 2}, "text": NOTE}
each_form = pytest.mark.parametrize("numbers", ["raw", "encoded"])


async def asked(service: Service, route: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = await service.client.post(route, json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def configured(service: Service, numbers: str, *names: str) -> None:
    for name in names:
        assert (await service.client.put(f"/tenants/{name}", json={"numbers": numbers})).status_code in {200, 201}


def digest(service: Service, name: str) -> str:
    return service.tenants.tenants[name].state.digest


@each_form
@pytest.mark.parametrize(
    "given", [MIXED, {"text": NOTE}, {"features": MIXED["features"]}], ids=["both", "raw", "features"]
)
async def test_feedback_by_prediction_id_learns_what_was_scored(
    service: Service, numbers: str, given: dict[str, Any]
) -> None:
    await configured(service, numbers, "one", "two")
    for label in (1, -1, 1):
        predicted = await asked(service, "/predict", {"tenant": "one"} | given)
        by_id = {"tenant": "one", "prediction_id": predicted["prediction_id"], "label": label}
        learnt = await asked(service, "/feedback", by_id)
        assert learnt["score"] == predicted["score"]
        await asked(service, "/feedback", {"tenant": "two", "label": label} | given)
    one, two = (service.tenants.tenants[name].state for name in ("one", "two"))
    assert one.model.memory.rows.tobytes() == two.model.memory.rows.tobytes()
    assert {name for _, name in one.names} == {name for _, name in two.names}


@each_form
@pytest.mark.parametrize("lines", [False, True])
async def test_a_batch_may_mix_features_and_raw_inputs(service: Service, numbers: str, lines: bool) -> None:
    await configured(service, numbers, "acme", "single")
    items: list[dict[str, Any]] = [
        MIXED,
        {"features": {"amount": 3}},
        {"url": "http://a.b/c"},
        MIXED | {"features": {"amount": 9.5}},
    ]
    for each in items:
        await asked(service, "/feedback", {"tenant": "single", "label": 1} | each)
    results: list[dict[str, Any]] = []
    labelled = [each | {"label": 1} for each in items]
    for route, some in (("/feedback/batch", labelled), ("/predict/batch", items)):
        body, headers = msgspec.json.encode({"tenant": "acme", "items": some}), []
        if lines:
            body, headers = msgspec.json.Encoder().encode_lines(some), LINES
        sent = await exchange(service.app, route, [body], headers, query=b"tenant=acme")
        results = sent.lines() if lines else sent.json()["results"]
        assert not [each for each in results if "error" in each]
    assert digest(service, "acme") == digest(service, "single")
    alone = [(await asked(service, "/predict", {"tenant": "single"} | each))["score"] for each in items]
    assert [each["score"] for each in results] == alone


async def test_an_explanation_shows_numbers_and_their_ranges(service: Service) -> None:
    await configured(service, "encoded", "acme")
    for amount, label in ((1500, 1), (20, -1), (1700, 1), (30, -1)):
        features: dict[str, Any] = {"amount": amount, "hour": 0, "is_new": True, "kind": "card"}
        await asked(service, "/feedback", {"tenant": "acme", "features": features, "label": label})
    wanted = {"amount": 1500, "hour": -3.5, "is_new": True, "kind": "card"}
    answer = await asked(service, "/predict", {"tenant": "acme", "features": wanted, "explain": 10})
    assert {each["feature"] for each in answer["explanation"]} <= {"amount 1,500 (1,024-2,048)", "is_new", "kind=card"}
    assert answer["explanation"][0]["feature"] == "amount 1,500 (1,024-2,048)"
    assert sum(each["contribution"] for each in answer["explanation"]) == pytest.approx(answer["score"])


async def test_weights_show_the_values_of_bins(service: Service) -> None:
    await configured(service, "encoded", "acme")
    await asked(service, "/feedback", {"tenant": "acme", "features": {"amount": 1024, "b": True}, "label": 1})
    answer = await service.client.get("/tenants/acme/weights")
    names = {each["feature"] for each in answer.json()["weights"]}
    assert names == {"amount", "amount 768-1,536", "amount 960-1,152", "b"}


@pytest.mark.parametrize("kind", KINDS)
async def test_features_of_both_are_shown(service: Service, kind: str) -> None:
    found = (await asked(service, "/features", {kind: NOTE}))["features"]
    name = next(iter(found))
    both = await asked(service, "/features", {kind: NOTE, "features": {"amount": 5, name: 2}})
    assert both["kind"] == kind
    assert both["features"] == found | {"amount": 5.0, name: found[name] + 2.0}


async def test_features_may_stand_beside_an_empty_text(service: Service) -> None:
    alone = await asked(service, "/features", {"features": {"amount": 5}})
    assert (await asked(service, "/features", {"text": "", "features": {"amount": 5}}))["features"] == alone["features"]


@pytest.mark.parametrize("features", [{}, {"a": False}, {"a": None}, {"": 1}, []])
async def test_bad_features_beside_a_text_are_refused(service: Service, features: object) -> None:
    answer = await service.client.post("/predict", json={"tenant": "acme", "text": "x", "features": features})
    assert answer.status_code == 422


@pytest.mark.parametrize("more", [{"features": {"a": 1}}, {"text": "x"}, MIXED])
async def test_a_prediction_id_stands_alone(service: Service, more: dict[str, Any]) -> None:
    answer = await service.client.post("/feedback", json={"tenant": "acme", "label": 1, "prediction_id": "p"} | more)
    assert answer.status_code == 422
    assert "both a prediction_id and an input are given" in answer.json()["detail"]
