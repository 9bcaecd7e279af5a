"""POST /predict."""

import json

import pytest

from app.learning.example import example_of
from tests.api.conftest import Service

pytestmark = pytest.mark.anyio
FEATURES = {"token:free": 1, "len": 0.4}


async def test_a_prediction_has_the_fields_of_the_contract(service: Service) -> None:
    answer = await service.client.post("/predict", json={"tenant": "acme", "features": FEATURES})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == {
        "prediction_id": "kept-0", "tenant": "acme", "label": -1, "score": 0.0, "version": 0,
        "algorithm": "cs-ssol", "needs_review": True, "probability": None, "explanation": [],
        "review_reason": "unknown",
    }  # fmt: skip


async def test_a_score_moves_after_feedback_by_prediction_id(service: Service) -> None:
    asked = {"tenant": "acme", "features": FEATURES}
    before = (await service.client.post("/predict", json=asked)).json()
    await service.client.post(
        "/feedback", json={"tenant": "acme", "prediction_id": before["prediction_id"], "label": 1}
    )
    after = (await service.client.post("/predict", json=asked)).json()
    assert after["score"] > before["score"]
    assert (after["label"], after["version"], after["needs_review"]) == (1, 1, False)


async def test_a_prediction_is_that_of_the_state(service: Service) -> None:
    await service.client.post("/feedback", json={"tenant": "acme", "features": {"a": 1, "b": 2}, "label": 1})
    answer = await service.client.post("/predict", json={"tenant": "acme", "features": {"a": 1, "c": 2}})
    score, label = service.tenants.tenants["acme"].state.predict(example_of({"a": 1, "c": 2}))
    assert (answer.json()["score"], answer.json()["label"]) == (score, label)


async def test_an_explanation_names_the_features_that_moved_the_score_most(service: Service) -> None:
    await service.client.post("/feedback", json={"tenant": "acme", "features": {"a": 1, "b": 3}, "label": 1})
    answer = await service.client.post("/predict", json={"tenant": "acme", "features": {"a": 1, "b": 3}, "explain": 1})
    assert [each["feature"] for each in answer.json()["explanation"]] == ["b"]
    assert 0 < answer.json()["explanation"][0]["contribution"] <= answer.json()["score"]


async def test_words_are_features_too(service: Service) -> None:
    features = {"browser": "chrome", "is_admin": True, "is_bot": False}
    answer = await service.client.post("/feedback", json={"tenant": "acme", "features": features, "label": 1})
    assert answer.status_code == 200
    answer = await service.client.post("/predict", json={"tenant": "acme", "features": features, "explain": 9})
    assert [each["feature"] for each in answer.json()["explanation"]] == ["browser=chrome", "is_admin"]


async def test_an_input_that_is_not_to_be_kept_has_no_prediction_id(service: Service) -> None:
    answer = await service.client.post("/predict", json={"tenant": "acme", "features": FEATURES, "keep": False})
    assert answer.json()["prediction_id"] is None


async def test_an_input_that_cannot_be_kept_has_no_prediction_id(service: Service) -> None:
    service.pending.full = True
    answer = await service.client.post("/predict", json={"tenant": "acme", "features": FEATURES})
    assert answer.json()["prediction_id"] is None


async def test_a_tenant_in_memory_is_served_while_the_store_is_down(service: Service) -> None:
    await service.client.put("/tenants/acme")
    service.tenants.trouble = "Redis is down"
    known = await service.client.post("/predict", json={"tenant": "acme", "features": FEATURES})
    unknown = await service.client.post("/predict", json={"tenant": "other", "features": FEATURES})
    assert (known.status_code, unknown.status_code) == (200, 503)


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "application/json; charset=utf-8",
        "Application/JSON;charset=UTF-8",
        "application/ld+json",
        None,
    ],
)
async def test_json_is_read_under_all_its_names(service: Service, content_type: str | None) -> None:
    headers = {"content-type": content_type} if content_type else {}
    body = json.dumps({"tenant": "acme", "features": FEATURES}).encode()
    assert (await service.client.post("/predict", content=body, headers=headers)).status_code == 200


@pytest.mark.parametrize(
    ("changes", "culprit"),
    [
        ({"tenant": "../x"}, "'../x' is not a valid name"),
        ({"tenant": "a{b}:c"}, "is not a valid name"),
        ({"tenant": ""}, "is not a valid name"),
        ({"tenant": "acme\n"}, "is not a valid name"),
        ({"tenant": "x" * 129}, "is not a valid name"),
        ({"tenant": 7}, "tenant is an integer; it must be a string"),
        ({"tenant": None}, "tenant is null; it must be a string"),
        ({"explain": 101}, "explain must be a whole number from 0 to 100"),
        ({"explain": -1}, "explain must be a whole number from 0 to 100"),
        ({"explain": "5"}, "explain is a string; it must be a whole number from 0 to 100"),
        ({"keep": "no"}, "keep is a string; it must be true or false"),
        (
            {"surprise": 1},
            "there is no field 'surprise'; the fields are tenant, features, url, email, text, explain, keep",
        ),
        ({"url": "http://x", "text": "x"}, "both 'url' and 'text'"),
        ({"found": {"a": 1}}, "there is no field 'found'"),
        ({"features": {}}, "empty"),
        ({"features": None}, "features must be an object"),
        ({"features": [1]}, "features must be an object"),
        ({"features": {"b": 1, "a": None}}, "'a'"),
        ({"features": {"a=1": 1, "a": "1"}}, "'a=1' is given twice"),
        ({"features": {"": 1}}, "a feature name is empty"),
        ({"features": {"a": {"b": 1}}}, "'a'"),
    ],
)
async def test_what_is_wrong_is_refused_by_its_name(service: Service, changes: dict[str, object], culprit: str) -> None:
    answer = await service.client.post("/predict", json={"tenant": "acme", "features": FEATURES} | changes)
    assert answer.status_code == 422
    assert culprit in answer.json()["detail"]


@pytest.mark.parametrize("field", ["tenant", "features"])
async def test_what_is_missing_is_named(service: Service, field: str) -> None:
    asked = {"tenant": "acme", "features": FEATURES}
    del asked[field]
    answer = await service.client.post("/predict", json=asked)
    assert answer.status_code == 422
    assert field in answer.json()["detail"]


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "01", "+1", "0x1", "1e300"])
async def test_an_invalid_or_oversized_number_is_refused(service: Service, number: str) -> None:
    body = f'{{"tenant":"acme","features":{{"a":{number}}}}}'
    answer = await service.client.post("/predict", content=body)
    assert (answer.status_code, answer.json()["status"]) == (422, 422)


async def test_too_many_features_are_refused(service: Service) -> None:
    features = {f"f{i}": 1 for i in range(501)}
    answer = await service.client.post("/predict", json={"tenant": "acme", "features": features})
    assert answer.status_code == 413
    assert "501 features; the limit is 500 features (SLUICE_MAX_FEATURES_PER_EXAMPLE)" in answer.json()["detail"]


async def test_a_tenant_is_not_created_where_that_is_not_allowed(service: Service) -> None:
    service.tenants.auto_create = False
    answer = await service.client.post("/predict", json={"tenant": "acme", "features": FEATURES})
    assert (answer.status_code, answer.json()["type"]) == (404, "/problems/unknown-tenant")
