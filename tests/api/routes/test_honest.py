"""Honest figures, the curve and targets over HTTP."""

from typing import Any

import pytest

from tests.api.conftest import Service

pytestmark = pytest.mark.anyio


async def taught(service: Service, labels: int = 200) -> None:
    await service.client.put("/tenants/acme", json={"algorithm": "cs-sol", "threshold": "auto"})
    items = [
        {"features": {f"f{n % 7}": 1.0, **({"x": 1.0} if n % 4 == 0 else {})}, "label": 1 if n % 4 == 0 else -1}
        for n in range(labels)
    ]
    for first in range(0, labels, 20):
        answer = await service.client.post(
            "/feedback/batch", json={"tenant": "acme", "items": items[first : first + 20]}
        )
        assert answer.status_code == 200


async def shown(service: Service) -> dict[str, Any]:
    found: dict[str, Any] = (await service.client.get("/tenants/acme")).json()
    return found


async def test_figures_are_null_with_the_reason_until_a_chosen_item_has_a_label(service: Service) -> None:
    await taught(service)
    honest = (await shown(service))["honest"]
    for window in ("ever", "lately"):
        rate = honest[window]["balanced_accuracy"]
        assert (rate["value"], rate["low"], rate["high"]) == (None, None, None)
        assert rate["reason"] == "no label of a chosen item yet"
        assert honest[window]["labels"] == 0


async def test_the_curve_without_chosen_items_is_that_of_all_labels(service: Service) -> None:
    await taught(service)
    curve = (await service.client.get("/tenants/acme/curve", params={"points": 9})).json()
    assert curve["weighted"] is False
    assert (curve["anomalies"], curve["normal"]) == (50, 150)
    assert 2 <= len(curve["points"]) <= 9
    assert curve["now"]["threshold"] == pytest.approx(curve["threshold"])
    assert curve["points"][0]["sensitivity"]["value"] == pytest.approx(1.0)
    assert curve["points"][-1]["flagged"]["value"] == pytest.approx(0.0)


async def test_without_scores_the_curve_says_why(service: Service) -> None:
    await service.client.put("/tenants/acme", json={"threshold": 0.5})
    curve = (await service.client.get("/tenants/acme/curve")).json()
    assert (curve["points"], curve["now"]) == (None, None)
    assert "no label of a chosen item yet" in curve["reason"]


async def test_a_target_is_followed_and_shown(service: Service) -> None:
    await taught(service)
    answer = await service.client.put("/tenants/acme", json={"target": {"false_positive_rate": 0.1}})
    assert answer.status_code == 200
    assert answer.json()["config"]["target"] == "false_positive_rate"
    assert answer.json()["config"]["target_value"] == 0.1
    assert answer.json()["target"]["followed"] is False
    await taught(service)
    target = (await shown(service))["target"]
    assert (target["name"], target["value"], target["followed"], target["reason"]) == (
        "false_positive_rate", 0.1, True, None,
    )  # fmt: skip
    assert target["realised"]["reason"] == "no label of a chosen item yet"
    assert (await service.client.put("/tenants/acme", json={"target": None})).json()["target"] is None


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"target": {}}, "an object with one of"),
        ({"target": {"sensitivity": 0.9, "precision": 0.5}}, "an object with one of"),
        ({"target": {"recall": 0.9}}, "an object with one of"),
        ({"target": "sensitivity"}, "an object with one of"),
        ({"target": 0.5}, "an object with one of"),
        ({"target": {"sensitivity": None}}, "it must be a number"),
        ({"target": {"sensitivity": "high"}}, "target_value is 'high'"),
        ({"target": {"sensitivity": 1.5}}, "target sensitivity is 1.5"),
        ({"target": {"sensitivity": 0}}, "target_value is 0"),
        ({"target": {"reviews_per_day": True}}, "target_value is true"),
        ({"target": {"precision": 0.5}, "threshold": 0.1}, "a target determines the threshold"),
        ({"target_value": 0.5}, "setting 'target_value' does not exist"),
    ],
)
async def test_a_target_that_makes_no_sense_is_refused(
    service: Service, settings: dict[str, Any], problem: str
) -> None:
    answer = await service.client.put("/tenants/acme", json=settings)
    assert (answer.status_code, answer.json()["type"]) == (422, "/problems/bad-setting")
    assert problem in answer.json()["detail"]


async def test_whatif_takes_a_target(service: Service) -> None:
    await taught(service)
    answer = await service.client.post("/tenants/acme/whatif", json={"settings": {"target": {"sensitivity": 0.99}}})
    assert answer.status_code == 200
    assert answer.json()["other"]["config"]["target"] == "sensitivity"
