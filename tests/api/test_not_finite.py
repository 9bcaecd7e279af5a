"""A model whose numbers have overflowed: JSON has no word for its scores, so they are null, and nothing is a 5xx."""

import pytest

from app.learning.events import FeedbackGiven
from app.learning.example import example_of
from app.learning.replay import advance_all
from app.learning.state import TenantState
from tests.api.conftest import Service
from tests.api.exchanges import exchange
from tests.security.forged_models import with_all_weights

pytestmark = pytest.mark.anyio
FEATURES = {"f1": 1, "f2": 2, "new": 3}
LINES = [(b"content-type", b"application/x-ndjson")]


@pytest.fixture
async def broken(service: Service) -> Service:
    """Tenant acme: its numbers are not finite after five labels."""
    state = TenantState({"algorithm": "ftrl"})
    advance_all(state, [FeedbackGiven(example_of({f"f{k}": 1.0 for k in range(9)}), 1)])
    headers = {"content-type": "application/octet-stream"}
    imported = await service.client.post(
        "/tenants/acme/import", content=with_all_weights(state, 1e308), headers=headers
    )
    assert imported.status_code == 200
    for label in (1, -1, 1, -1, 1):
        given = await service.client.post("/feedback", json={"tenant": "acme", "features": FEATURES, "label": label})
        assert given.status_code == 200
    return service


async def test_a_score_that_is_not_finite_is_null_and_for_a_person_to_look_at(broken: Service) -> None:
    answer = await broken.client.post("/predict", json={"tenant": "acme", "features": FEATURES, "explain": 5})
    assert answer.status_code == 200
    assert answer.json()["score"] is None
    assert answer.json()["needs_review"] is True
    assert None in [each["contribution"] for each in answer.json()["explanation"]]


async def test_what_was_answered_so_can_be_labelled(broken: Service) -> None:
    asked = (await broken.client.post("/predict", json={"tenant": "acme", "features": FEATURES})).json()
    body = {"tenant": "acme", "prediction_id": asked["prediction_id"], "label": 1}
    given = await broken.client.post("/feedback", json=body)
    assert given.status_code == 200
    assert (given.json()["score"], given.json()["loss"], given.json()["served"]["score"]) == (None, None, None)


async def test_feedback_without_an_update_has_a_reason(service: Service) -> None:
    state = TenantState({"algorithm": "cs-ssol-full"})
    advance_all(state, [FeedbackGiven(example_of({f"f{k}": 1.0 for k in range(9)}), 1)])
    headers = {"content-type": "application/octet-stream"}
    await service.client.post("/tenants/acme/import", content=with_all_weights(state, 1e308), headers=headers)
    given = await service.client.post("/feedback", json={"tenant": "acme", "features": FEATURES, "label": 1})
    assert given.json()["updated"] is False
    assert given.json()["reason"] == "the score is not finite: weights of the model have overflowed"


async def test_batches_and_lines_answer_so_too(broken: Service) -> None:
    items = [{"features": FEATURES}, {"features": {"f1": 1}}]
    batch = await broken.client.post("/predict/batch", json={"tenant": "acme", "items": items})
    sent = await exchange(broken.app, "/predict/batch", [b'{"features":{"f1":1}}\n'], LINES, query=b"tenant=acme")
    assert [each["score"] for each in batch.json()["results"] + sent.lines()] == [None, None, None]


@pytest.mark.parametrize("path", ["", "/weights"])
async def test_the_tenant_can_be_looked_at(broken: Service, path: str) -> None:
    assert (await broken.client.get(f"/tenants/acme{path}")).status_code == 200


async def test_it_is_not_exported(broken: Service) -> None:
    answer = await broken.client.get("/tenants/acme/export")
    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/model-not-finite")
