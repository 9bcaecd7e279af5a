"""POST /feedback."""

from typing import Any

import pytest

from tests.api.conftest import Service

pytestmark = pytest.mark.anyio
GIVEN: dict[str, Any] = {"tenant": "acme", "features": {"a": 1}, "label": 1}


async def test_feedback_has_the_fields_of_the_contract(service: Service) -> None:
    answer = await service.client.post("/feedback", json=GIVEN | {"feedback_id": "f1", "moderator": "kim"})
    assert answer.status_code == 200
    assert answer.json() == {
        "tenant": "acme", "feedback_id": "f1", "version": 1, "label": 1, "predicted": -1, "score": 0.0, "loss": 1.0,
        "updated": True, "duplicate": False, "reason": None, "served": None,
    }  # fmt: skip
    assert service.tenants.feedback_writer.received[0].moderator == "kim"


async def test_feedback_without_an_id_gets_one(service: Service) -> None:
    assert (await service.client.post("/feedback", json=GIVEN)).json()["feedback_id"] == "made-1"


async def test_a_retry_is_learnt_once_and_answered_alike(service: Service) -> None:
    first = (await service.client.post("/feedback", json=GIVEN | {"feedback_id": "f1"})).json()
    second = (await service.client.post("/feedback", json=GIVEN | {"feedback_id": "f1"})).json()
    assert second == first | {"duplicate": True}
    assert service.tenants.tenants["acme"].state.version == 1


async def test_the_same_id_with_another_label_is_a_conflict(service: Service) -> None:
    await service.client.post("/feedback", json=GIVEN | {"feedback_id": "f1"})
    answer = await service.client.post("/feedback", json=GIVEN | {"feedback_id": "f1", "label": -1})
    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/feedback-conflict")
    assert "'f1'" in answer.json()["detail"]


async def test_the_idempotency_key_header_replaces_the_feedback_id(service: Service) -> None:
    key = {"Idempotency-Key": "k1"}
    first = (await service.client.post("/feedback", json=GIVEN, headers=key)).json()
    second = (await service.client.post("/feedback", json=GIVEN | {"feedback_id": "k1"}, headers=key)).json()
    assert (first["feedback_id"], first["duplicate"], second["duplicate"]) == ("k1", False, True)


@pytest.mark.parametrize(
    ("headers", "culprit"),
    [
        ([("Idempotency-Key", "k2")], "differ"),
        ([("Idempotency-Key", "f1"), ("Idempotency-Key", "f1")], "more than one"),
        ([("Idempotency-Key", "x" * 201)], "1 to 200 characters"),
        ([("Idempotency-Key", "")], "1 to 200 characters"),
        ([(b"Idempotency-Key", b"\xff")], "not UTF-8"),
    ],
)
async def test_an_invalid_key_is_refused(service: Service, headers: Any, culprit: str) -> None:  # noqa: ANN401
    answer = await service.client.post("/feedback", json=GIVEN | {"feedback_id": "f1"}, headers=headers)
    assert answer.status_code == 422
    assert culprit in answer.json()["detail"]
    assert not service.tenants.tenants


async def test_a_label_carries_the_served_verdict(service: Service) -> None:
    predicted = (await service.client.post("/predict", json={"tenant": "acme", "features": {"a": 1}})).json()
    await service.client.post("/feedback", json=GIVEN)  # the model learns meanwhile
    given = {"tenant": "acme", "prediction_id": predicted["prediction_id"], "label": 1}
    answer = (await service.client.post("/feedback", json=given)).json()
    assert answer["served"] == {"label": predicted["label"], "score": predicted["score"]}
    assert answer["score"] != predicted["score"]
    received = service.tenants.feedback_writer.received[-1]
    assert received.prediction_id == predicted["prediction_id"]
    assert list(received.example.names) == ["a"]


async def test_an_item_of_a_batch_can_be_recalled_too(service: Service) -> None:
    batch = await service.client.post("/predict/batch", json={"tenant": "acme", "items": [{"features": {"z": 2}}]})
    prediction_id = batch.json()["results"][0]["prediction_id"]
    await service.client.post("/feedback", json={"tenant": "acme", "prediction_id": prediction_id, "label": 1})
    received = service.tenants.feedback_writer.received[-1]
    assert (list(received.example.names), received.example.values.tolist()) == (["z"], [2.0])


@pytest.mark.parametrize("tenant", ["acme", "other"])
async def test_a_prediction_that_is_not_kept_for_this_tenant_has_expired(service: Service, tenant: str) -> None:
    await service.client.post("/predict", json={"tenant": "third", "features": {"a": 1}})
    asked = {"tenant": tenant, "prediction_id": "kept-0", "label": 1}
    answer = await service.client.post("/feedback", json=asked)
    assert (answer.status_code, answer.json()["type"]) == (410, "/problems/prediction-expired")


async def test_a_retry_finds_its_answer_although_the_prediction_has_expired(service: Service) -> None:
    first = (await service.client.post("/feedback", json=GIVEN | {"feedback_id": "id-1"})).json()
    asked = {"tenant": "acme", "prediction_id": "long-gone", "label": GIVEN["label"], "feedback_id": "id-1"}
    assert (await service.client.post("/feedback", json=asked)).json() == first | {"duplicate": True}
    other = await service.client.post("/feedback", json=asked | {"label": -GIVEN["label"]})
    assert other.status_code == 409
    unknown = await service.client.post("/feedback", json=asked | {"feedback_id": "id-2"})
    assert unknown.status_code == 410


async def test_no_update_has_its_reason(service: Service) -> None:
    await service.client.put("/tenants/acme", json={"algorithm": "stg", "eta": 10.0})
    first = (await service.client.post("/feedback", json=GIVEN)).json()
    second = (await service.client.post("/feedback", json=GIVEN)).json()
    assert (first["updated"], first["reason"]) == (True, None)
    assert (second["updated"], second["loss"]) == (False, 0.0)
    assert second["reason"] == "no loss: the score was already right by a margin"


async def test_feedback_that_cannot_be_logged_is_not_acknowledged(service: Service) -> None:
    await service.client.put("/tenants/acme")
    service.tenants.trouble = "Redis is down"
    answer = await service.client.post("/feedback", json=GIVEN)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert answer.json()["type"] == "/problems/store-unavailable"
    assert service.tenants.tenants["acme"].state.version == 0


@pytest.mark.parametrize(
    ("changes", "culprit"),
    [
        ({"label": 0}, "label is 0; it must be 1 (anomaly) or -1 (normal)"),
        ({"label": 2}, "label is 2; it must be 1 (anomaly) or -1 (normal)"),
        ({"label": "1"}, "label is a string; it must be 1 (anomaly) or -1 (normal)"),
        ({"label": True}, "label is a boolean; it must be 1 (anomaly) or -1 (normal)"),
        ({"label": None}, "label is null; it must be 1 (anomaly) or -1 (normal)"),
        ({"feedback_id": ""}, "feedback_id is ''"),
        ({"feedback_id": "a\x00b"}, "feedback_id"),
        ({"feedback_id": "a\n"}, "feedback_id"),
        ({"moderator": "x" * 201}, "moderator"),
        ({"prediction_id": "\x7f"}, "prediction_id"),
        ({"prediction_id": "kept-0"}, "both a prediction_id and an input are given"),
        ({"prediction_id": None}, "prediction_id is null; it must be a string"),
        ({"explain": 1}, "there is no field 'explain'; the fields are tenant, features"),
        ({"features": {}}, "empty"),
    ],
)
async def test_what_is_wrong_is_refused_by_its_name(service: Service, changes: dict[str, object], culprit: str) -> None:
    answer = await service.client.post("/feedback", json=GIVEN | changes)
    assert answer.status_code == 422
    assert culprit in answer.json()["detail"]
    assert service.tenants.feedback_writer.calls == []


async def test_a_label_is_needed(service: Service) -> None:
    answer = await service.client.post("/feedback", json={"tenant": "acme", "features": {"a": 1}})
    assert answer.status_code == 422
    assert "label is missing; it must be 1 (anomaly) or -1 (normal)" in answer.json()["detail"]


async def test_feedback_needs_an_input(service: Service) -> None:
    answer = await service.client.post("/feedback", json={"tenant": "acme", "label": 1})
    assert answer.status_code == 422
    assert (
        "no input is given; send features, one of url, email, text, or both; or only a prediction_id"
        in answer.json()["detail"]
    )
