"""GET and POST /tenants/{tenant}/second-reviews."""

import pytest

from app.review.queue import Reviewer
from app.storage.review.opinions import Said
from tests.api.conftest import Service
from tests.api.fake_review import FakeSecondReviews

pytestmark = pytest.mark.anyio
PATH = "/tenants/acme/second-reviews"


@pytest.fixture
async def reviews(service: Service) -> FakeSecondReviews:
    found = service.app.state.backend.second_reviews
    assert isinstance(found, FakeSecondReviews)
    await service.tenants.configure("acme", {"keep_inputs": "all"})
    for body in ({"url": "http://example.org/login"}, {"features": {"a": 1.0}}):
        answer = await service.client.post("/predict", json={"tenant": "acme", **body})
        found.waiting.append(answer.json()["prediction_id"])
    return found


async def test_an_item_shows_neither_the_label_nor_the_verdict(service: Service, reviews: FakeSecondReviews) -> None:
    answer = await service.client.get(PATH, params={"moderator": "bob", "limit": 2})
    assert answer.status_code == 200, answer.text
    assert answer.headers["cache-control"] == "no-store"
    found = answer.json()
    assert (found["tenant"], found["waiting"]) == ("acme", 2)
    url, features = found["items"]
    assert url.keys() == {"prediction_id", "at", "features", "input", "review_reason", "lease_until"}
    assert url["input"] == {"kind": "url", "url": "http://example.org/login"}
    assert (features["input"], features["features"]) == (None, {"a": 1.0})
    assert [url["prediction_id"], features["prediction_id"]] == reviews.waiting


async def test_counting_leases_nothing(service: Service, reviews: FakeSecondReviews) -> None:
    assert reviews.waiting
    found = (await service.client.get(PATH, params={"moderator": "bob", "limit": 0})).json()
    assert (found["waiting"], found["items"]) == (2, [])
    assert (await service.client.head(PATH, params={"moderator": "bob"})).status_code == 200


async def test_what_has_expired_is_left_out(service: Service, reviews: FakeSecondReviews) -> None:
    reviews.waiting = ["gone", *reviews.waiting]
    found = (await service.client.get(PATH, params={"moderator": "bob", "limit": 2})).json()
    assert [item["prediction_id"] for item in found["items"]] == reviews.waiting[1:2]


async def test_an_opinion_is_kept_with_who_gives_it(service: Service, reviews: FakeSecondReviews) -> None:
    one = reviews.waiting[0]
    answer = await service.client.post(f"{PATH}/{one}", json={"action": "opinion", "label": -1, "moderator": "bob"})
    assert answer.json() == {"tenant": "acme", "prediction_id": one, "action": "opinion"}
    await service.client.post(f"{PATH}/{one}", json={"action": "skip", "moderator": "bob"})
    bob = Reviewer("moderator bob")
    assert reviews.answers == [
        ("acme", bob, one, "opinion", Said(-1, "bob", None)),
        ("acme", bob, one, "skip", Said(0, "bob", None)),
    ]


async def test_who_takes_part_must_be_known(service: Service, reviews: FakeSecondReviews) -> None:
    for answer in (
        await service.client.get(PATH),
        await service.client.post(f"{PATH}/{reviews.waiting[0]}", json={"action": "skip"}),
    ):
        assert answer.status_code == 422
        assert answer.json()["detail"] == "moderator is missing: give the name of who takes part"


@pytest.mark.parametrize(
    "body",
    [
        {"action": "opinion"}, {"action": "skip", "label": 1}, {"action": "opinion", "label": 2},
        {"action": "opinion", "label": True}, {"action": "label", "label": 1}, {"action": "skip", "lease": "x"},
    ],
)  # fmt: skip
async def test_wrong_answers_are_refused(service: Service, reviews: FakeSecondReviews, body: dict[str, object]) -> None:
    answer = await service.client.post(f"{PATH}/{reviews.waiting[0]}", json=body | {"moderator": "bob"})
    assert answer.status_code == 422
    assert reviews.answers == []


async def test_a_lost_lease_gets_409(service: Service, reviews: FakeSecondReviews) -> None:
    answer = await service.client.post(f"{PATH}/other", json={"action": "opinion", "label": 1, "moderator": "bob"})
    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/lease-lost")
    assert reviews.answers == []


async def test_an_unknown_tenant_gets_404(service: Service) -> None:
    assert (await service.client.get("/tenants/other/second-reviews", params={"moderator": "b"})).status_code == 404
    answer = await service.client.post("/tenants/other/second-reviews/p", json={"action": "skip", "moderator": "b"})
    assert answer.status_code == 404
