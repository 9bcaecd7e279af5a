"""POST /tenants/{tenant}/whatif: what it accepts and answers, and who may ask for it."""

from typing import Any

import pytest

from app.learning.parts.confusion import Confusion
from app.tenants.errors import WhatIfTooLarge
from app.tenants.labels.stored_labels import LabelFilter
from app.tenants.labels.what_if import Comparison, Flip, Side, WhatIf
from tests.api.conftest import Service
from tests.api.routes.test_labels import stored
from tests.api.test_authorisation import Guarded, guarded  # noqa: F401 - a fixture

pytestmark = pytest.mark.anyio
PATH = "/tenants/acme/whatif"


@pytest.fixture
async def _tenant(service: Service) -> None:
    await service.tenants.hold("acme")


@pytest.mark.usefixtures("_tenant")
async def test_what_is_asked(service: Service) -> None:
    await service.tenants.hold("trial")
    body = {
        "settings": {"lambda": 0.1},
        "model_of": "trial",
        "since": "2026-11-18T10:00:00+01:00",
        "until": "2026-11-18T10:00:00Z",
        "flips": 3,
        "start": "log",
    }
    for given in ({}, body):
        answer = await service.client.post(PATH, json=given)
        assert answer.status_code == 200, answer.text
    (_, nothing, caller), (name, everything, _) = service.tenants.what_ifs
    assert (name, nothing) == ("acme", WhatIf())
    within = LabelFilter(since=1_794_992_400_000, until=1_794_996_000_000)
    assert everything == WhatIf(settings={"lambda": 0.1}, model_of="trial", compared=within, flips=3)
    assert caller is not None
    assert not caller.is_client_gone


@pytest.mark.usefixtures("_tenant")
async def test_the_answer(service: Service) -> None:
    actual, other = Side({"eta": 1.0}, Confusion(6, 2, 1, 1)), Side({"eta": 2.0}, Confusion(7, 1, 2, 0))
    flips = [Flip(stored(8), 1, 0.5, -1, float("inf"))]
    service.tenants.comparison = Comparison(5, 20, actual, other, 1, 1, 1, flips)
    answer = (await service.client.post(PATH, json={"settings": {"eta": 2.0}})).json()
    assert answer == {
        "tenant": "acme", "version": 20, "start_version": 5, "labels": 10, "refused": 1,
        "actual": {
            "labels": 10, "true_positives": 1, "false_positives": 2, "true_negatives": 6, "false_negatives": 1,
            "balanced_accuracy": 0.625, "sensitivity": 0.5, "specificity": 0.75, "error": 0.3, "config": {"eta": 1.0},
        },
        "other": {
            "labels": 10, "true_positives": 0, "false_positives": 1, "true_negatives": 7, "false_negatives": 2,
            "balanced_accuracy": 0.4375, "sensitivity": 0.0, "specificity": 0.875, "error": 0.3, "config": {"eta": 2.0},
        },
        "difference": {"balanced_accuracy": -0.1875, "sensitivity": -0.5, "specificity": 0.125, "error": 0.0},
        "flipped": 2, "corrected": 1, "spoilt": 1,
        "flips": [
            {
                "version": 8, "at": 1_794_992_408_000, "label": 1, "feedback_id": "f-8", "prediction_id": "p-4",
                "moderator": "ann", "actual": {"label": 1, "score": 0.5}, "other": {"label": -1, "score": None},
            }
        ],
    }  # fmt: skip


@pytest.mark.usefixtures("_tenant")
async def test_rates_are_null_without_labels(service: Service) -> None:
    answer = (await service.client.post(PATH, json={})).json()
    assert answer["labels"] == 0
    assert answer["actual"]["balanced_accuracy"] is None
    assert set(answer["difference"].values()) == {None}


@pytest.mark.usefixtures("_tenant")
@pytest.mark.parametrize(
    "settings",
    [
        {"eta": -1},
        {"algorithm": "none"},
        {"unknown": 1},
        {"costs": "auto", "cost_positive": 2},
        {"eta": []},
        {"r": None},
    ],
)
async def test_settings_are_refused_as_put_refuses_them(service: Service, settings: dict[str, Any]) -> None:
    put = await service.client.put("/tenants/acme", json=settings)
    answer = await service.client.post(PATH, json={"settings": settings})
    assert (
        (answer.status_code, answer.json()["type"])
        == (put.status_code, put.json()["type"])
        == (422, put.json()["type"])
    )
    assert answer.json()["detail"].replace("settings.", "") == put.json()["detail"]
    assert service.tenants.what_ifs == []


@pytest.mark.usefixtures("_tenant")
@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"flips": 1001}, "flips"),
        ({"flips": -1}, "flips"),
        ({"flips": "3"}, "flips"),
        ({"since": "yesterday"}, "a time with its zone"),
        ({"until": "2026-11-18T10:00:00"}, "a time with its zone"),
        ({"start": "snapshot"}, "start"),
        ({"settings": None}, "settings"),
        ({"eta": 1}, "eta"),
        ({"model_of": "a/b"}, "model_of"),
        ({"model_of": "acme"}, "model_of is 'acme' itself"),
    ],
)
async def test_a_wrong_body_is_refused_with_a_sentence(service: Service, body: dict[str, Any], sentence: str) -> None:
    answer = await service.client.post(PATH, json=body)
    assert answer.status_code == 422
    assert sentence in answer.json()["detail"]
    assert service.tenants.what_ifs == []


@pytest.mark.usefixtures("_tenant")
async def test_an_unknown_tenant_is_not_created(service: Service) -> None:
    for path, body in (("/tenants/other/whatif", {}), (PATH, {"model_of": "other"})):
        answer = await service.client.post(path, json=body)
        assert answer.status_code == 404
        assert "'other'" in answer.json()["detail"]
    assert service.tenants.tenants.keys() == {"acme"}


@pytest.mark.usefixtures("_tenant")
async def test_a_model_that_is_too_large_is_a_problem(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: object) -> Comparison:
        raise WhatIfTooLarge(3000, 2000)

    monkeypatch.setattr(service.tenants, "what_if", refuse)
    answer = await service.client.post(PATH, json={})
    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/what-if-too-large")


async def test_who_may_review_may_ask_about_own_tenants(guarded: Guarded) -> None:  # noqa: F811 - the fixture
    for name in ("mine", "my-trial", "theirs"):
        await guarded.tenants.hold(name)
    path, body = "/tenants/mine/whatif", {"settings": {"eta": 0.5}}
    for roles, status in {("predict",): 403, ("feedback",): 403, ("review",): 200}.items():
        assert (await guarded.ask("POST", path, await guarded.key(*roles), json=body)).status_code == status
    key = await guarded.key("review", tenants="mine,my-*")
    assert (await guarded.ask("POST", path, key, json={"model_of": "my-trial"})).status_code == 200
    refused = [
        await guarded.ask("POST", "/tenants/theirs/whatif", key, json={}),
        await guarded.ask("POST", path, key, json={"model_of": "theirs"}),
        await guarded.ask("POST", path, key, json={"model_of": "unknown"}),
    ]
    assert [answer.status_code for answer in refused] == [403, 403, 403]
    assert [name for name, _, _ in guarded.tenants.what_ifs] == ["mine", "mine"]
    assert guarded.audit.entries == [], "nothing is changed"
