"""GET /predictions/{id}/similar: how people have labelled before what looks like it."""

import pytest

from app.learning.example import example_of
from app.tenants.labels.similarity import SimilarLabel, SimilarLabels
from tests.api.conftest import Service
from tests.api.routes.test_predictions import stored
from tests.api.test_authorisation import Guarded, guarded  # noqa: F401 - a fixture

pytestmark = pytest.mark.anyio
FEATURES = {"a": 1.0, "b": 2.0}


async def predict(service: Service, **given: object) -> str:
    answer = await service.client.post("/predict", json={"tenant": "acme"} | given)
    return str(answer.json()["prediction_id"])


async def test_similar_labels_are_shown_with_their_inputs_if_these_are_kept(service: Service) -> None:
    await service.client.put("/tenants/acme", json={"keep_inputs": "all"})
    earlier, wanted = await predict(service, text="hello"), await predict(service, features=FEATURES)
    service.tenants.similar = SimilarLabels(
        [
            SimilarLabel(stored(earlier, moderator="ann", label=-1), 0.75, ["a"]),
            SimilarLabel(stored(None), 0.5, []),
        ],
        compared=7,
        anomalies=1,
        normal=1,
    )
    answer = await service.client.get(f"/predictions/{wanted}/similar?tenant=acme&limit=2")
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    shown = answer.json()
    assert {name: shown[name] for name in ("prediction_id", "tenant", "compared", "anomalies", "normal")} == {
        "prediction_id": wanted, "tenant": "acme", "compared": 7, "anomalies": 1, "normal": 1,
    }  # fmt: skip
    first, second = shown["labels"]
    assert first == {
        "similarity": 0.75, "label": -1, "at": 5, "version": 3, "moderator": "ann", "prediction_id": earlier,
        "shared": ["a"], "input": {"kind": "text", "text": "hello"},
    }  # fmt: skip
    assert (second["prediction_id"], second["input"]) == (None, None)
    ((name, example, limit, but),) = service.tenants.similar_asked
    assert (name, dict(zip(example.names, example.values, strict=True)), limit, but) == ("acme", FEATURES, 2, wanted)


async def test_a_prediction_that_is_not_kept_is_compared_by_what_its_label_has(service: Service) -> None:
    await service.tenants.hold("acme")
    gone = await service.client.get("/predictions/long-gone/similar?tenant=acme")
    assert (gone.status_code, gone.json()["type"]) == (410, "/problems/prediction-expired")
    service.tenants.given_labels = [(stored("long-gone"), None)]
    service.tenants.labelled[3] = example_of(FEATURES)
    assert (await service.client.get("/predictions/long-gone/similar?tenant=acme")).status_code == 200


@pytest.mark.parametrize("query", ["", "?tenant=", "?tenant=acme&limit=21", "?tenant=acme&limit=0", "?tenant=acme&x=1"])
async def test_a_wrong_request_is_refused(service: Service, query: str) -> None:
    await service.tenants.hold("acme")
    assert (await service.client.get(f"/predictions/p/similar{query}")).status_code == 422


async def test_an_unknown_tenant_is_not_created(service: Service) -> None:
    assert (await service.client.get("/predictions/p/similar?tenant=other")).status_code == 404
    assert service.tenants.tenants == {}


async def test_it_needs_the_role_review_and_the_tenant(guarded: Guarded) -> None:  # noqa: F811 - the fixture
    await guarded.tenants.hold("mine")
    given = {"tenant": "mine", "features": FEATURES}
    answer = await guarded.ask("POST", "/predict", await guarded.key("predict"), json=given)
    path = f"/predictions/{answer.json()['prediction_id']}/similar"
    assert (await guarded.ask("GET", path, await guarded.key("review"))).status_code == 200
    assert (await guarded.ask("GET", path, await guarded.key("feedback"))).status_code == 403
    assert (await guarded.ask("GET", f"{path}?tenant=theirs", await guarded.key("review"))).status_code == 403
