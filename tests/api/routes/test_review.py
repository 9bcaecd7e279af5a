"""The review queue: what is leased to whom, and how it is shown."""

import pytest

from app.auth.keys import new_key
from app.learning.review import REASONS, Chosen
from app.review.queue import Reviewer
from app.storage.review.queue import QueuedItem
from tests.api.conftest import Service
from tests.api.test_authorisation import Guarded, guarded  # noqa: F401 - a fixture

pytestmark = pytest.mark.anyio
FEATURES = {"a": 1.0, "b": 2.0}
PATH = "/tenants/acme/review"


async def queued(service: Service, *reasons: str) -> list[str]:
    """Predict, and put each prediction into the queue."""
    await service.client.post("/feedback", json={"tenant": "acme", "features": {"a": 1}, "label": 1})
    ids = []
    for reason in reasons:
        service.pending.choice = Chosen(REASONS.index(reason), 0.25, 0.5)
        answer = await service.client.post("/predict", json={"tenant": "acme", "features": FEATURES})
        prediction_id = answer.json()["prediction_id"]
        item = QueuedItem(prediction_id, service.pending.choice, 0, 1, 0.5, skipped=1, unsure=2)
        service.review.waiting.append(item)
        ids.append(prediction_id)
    return ids


async def test_a_leased_item_is_shown_as_its_prediction_is(service: Service) -> None:
    ids = await queued(service, "uncertain", "random")
    answer = await service.client.get(f"{PATH}?moderator=kim&lease_seconds=60&explain=5")
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    found = answer.json()
    assert (found["tenant"], found["waiting"], found["leased"]) == ("acme", 1, 1)
    (item,) = found["items"]
    shown = (await service.client.get(f"/predictions/{ids[0]}?tenant=acme&explain=5")).json()
    assert {name: item[name] for name in shown} == shown
    assert item["then"]["explanation"]
    assert (item["review_reason"], item["chosen_with"], item["cost"], item["unsure"]) == ("uncertain", 0.25, 0.5, 2)
    assert (item["lease"], item["lease_until"]) == ("lease-1", 1_800_000_000_000)
    assert item["age_seconds"] > 0
    assert service.review.asked == [(Reviewer("moderator kim"), 1, 60)]


async def test_a_model_that_has_learnt_since_is_not_built_again(service: Service) -> None:
    await queued(service, "random")
    await service.client.post("/feedback", json={"tenant": "acme", "features": {"b": 1}, "label": -1})
    (item,) = (await service.client.get(PATH)).json()["items"]
    assert item["then"] is None
    assert item["then_unknown"].startswith("the model has learnt since")
    assert item["now"]["explanation"]


async def test_several_items_are_leased_together_and_none_if_nothing_waits(service: Service) -> None:
    ids = await queued(service, "uncertain", "flagged", "random")
    found = (await service.client.get(f"{PATH}?limit=2")).json()
    assert [item["prediction_id"] for item in found["items"]] == ids[:2]
    assert [item["review_reason"] for item in (await service.client.get(f"{PATH}?limit=2")).json()["items"]] == [
        "random"
    ]
    empty = await service.client.get(PATH)
    assert (empty.status_code, empty.json()["items"]) == (200, [])


async def test_an_item_whose_prediction_has_just_expired_is_left_out(service: Service) -> None:
    (kept,) = await queued(service, "random")
    service.review.waiting.insert(0, QueuedItem("gone-1-0-1", Chosen(1, 1.0, 1.0), 0, 1, 0.5))
    items = (await service.client.get(f"{PATH}?limit=5")).json()["items"]
    assert [item["prediction_id"] for item in items] == [kept]


async def test_head_leases_nothing(service: Service) -> None:
    await queued(service, "random")
    answer = await service.client.head(PATH)
    assert (answer.status_code, answer.content, answer.headers["cache-control"]) == (200, b"", "no-store")
    assert service.review.asked == []


@pytest.mark.parametrize("action", ["skip", "unsure", "release", "renew"])
async def test_a_lease_is_ended_or_renewed_by_who_holds_it(service: Service, action: str) -> None:
    (prediction_id,) = await queued(service, "random")
    (item,) = (await service.client.get(f"{PATH}?moderator=kim")).json()["items"]
    path = f"{PATH}/{prediction_id}"
    lost = await service.client.post(path, json={"action": action, "moderator": "lee"})
    assert (lost.status_code, lost.json()["type"]) == (409, "/problems/lease-lost")
    done = await service.client.post(path, json={"action": action, "moderator": "kim"})
    assert done.status_code == 200
    assert {name: done.json()[name] for name in ("tenant", "prediction_id", "action")} == {
        "tenant": "acme", "prediction_id": prediction_id, "action": action,
    }  # fmt: skip
    assert (done.json()["lease_until"] is not None) == (action == "renew")
    by_lease = await service.client.post(path, json={"action": action, "lease": item["lease"]})
    assert by_lease.status_code == 200
    assert service.review.ended[0] == ("acme", Reviewer("moderator kim"), action, prediction_id)


@pytest.mark.parametrize(
    ("path", "body", "culprit"),
    [
        ("?limit=0", None, "limit is '0'"),
        ("?limit=101", None, "limit is '101'"),
        ("?lease_seconds=86401", None, "lease_seconds is '86401'"),
        ("?lease_seconds=-1", None, "lease_seconds is '-1'"),
        ("?moderator=", None, "moderator"),
        ("?colour=red", None, "'colour'"),
        ("/x-1-0-1", {"action": "keep"}, "action"),
        ("/x-1-0-1", {}, "action"),
        ("/x-1-0-1", {"action": "skip", "lease": ""}, "lease"),
        ("/x-1-0-1", {"action": "renew", "lease_seconds": 0}, "lease_seconds"),
        ("/x-1-0-1", {"action": "renew", "lease_seconds": True}, "lease_seconds"),
        ("/x-1-0-1", {"action": "skip", "why": 1}, "why"),
    ],
)
async def test_a_wrong_request_is_refused_by_name(
    service: Service, path: str, body: dict[str, object] | None, culprit: str
) -> None:
    await queued(service, "random")
    send = service.client.get(PATH + path) if body is None else service.client.post(PATH + path, json=body)
    answer = await send
    assert (answer.status_code, answer.json()["type"]) == (422, "/problems/bad-input")
    assert culprit in answer.json()["detail"]
    assert service.review.asked == []


async def test_an_unknown_tenant_is_not_created(service: Service) -> None:
    for answer in (
        await service.client.get(PATH),
        await service.client.post(f"{PATH}/x-1-0-1", json={"action": "skip"}),
    ):
        assert (answer.status_code, answer.json()["type"]) == (404, "/problems/unknown-tenant")
    assert service.tenants.tenants == {}


async def test_a_tenant_shows_its_queue(service: Service) -> None:
    await queued(service, "random", "random")
    shown = (await service.client.get("/tenants/acme")).json()["review"]
    assert shown == {"waiting": 2, "leased": 0, "oldest_age_seconds": 1.5, "by_reason": {"random": 2}}


async def test_the_moderator_is_that_of_the_key(guarded: Guarded) -> None:  # noqa: F811 - the fixture
    await guarded.tenants.configure("mine", {})
    path = "/tenants/mine/review"
    kim, nobody = await guarded.key("feedback", moderator="kim"), await guarded.key("feedback")
    assert (await guarded.ask("GET", path, kim)).status_code == 200
    other = await guarded.ask("GET", f"{path}?moderator=lee", kim)
    assert (other.status_code, other.json()["type"]) == (403, "/problems/not-this-moderator")
    answer = await guarded.ask("POST", f"{path}/x-1-0-1", kim, json={"action": "skip", "moderator": "lee"})
    assert (answer.status_code, answer.json()["type"]) == (403, "/problems/not-this-moderator")
    assert (await guarded.ask("GET", f"{path}?moderator=lee", nobody)).status_code == 200
    assert (await guarded.ask("GET", path, nobody)).status_code == 200


@pytest.mark.parametrize(
    ("moderator", "named", "expected"),
    [
        (None, None, "key"),
        (None, "lee", "moderator lee"),
        ("kim", None, "moderator kim"),
        ("kim", "kim", "moderator kim"),
    ],
)
def test_a_reviewer_is_a_moderator_or_else_a_key(moderator: str | None, named: str | None, expected: str) -> None:
    key, _ = new_key("", ["feedback"], ["acme"], 0, moderator=moderator)
    name = Reviewer.of(key, named).name
    assert name == (f"key {key.id}" if expected == "key" else expected)
    assert Reviewer.of(None, None) == Reviewer("")
    assert len({Reviewer(each).digest for each in ("", "key kim", "moderator kim")}) == 3
