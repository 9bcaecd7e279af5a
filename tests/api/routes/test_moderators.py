"""GET /tenants/{tenant}/moderators."""

from typing import Any

import msgspec
import pytest

from app.learning.events import ReplacedLabel
from tests.api.conftest import Service
from tests.api.routes.test_labels import TAKEN_BACK, stored

pytestmark = pytest.mark.anyio
PATH = "/tenants/acme/moderators"
REPLACED = msgspec.structs.replace(TAKEN_BACK, is_replacement=True)


@pytest.fixture(autouse=True)
async def _labels(service: Service) -> None:
    await service.tenants.hold("acme")
    plain = [msgspec.structs.replace(stored(k), replaces=None) for k in range(20, 0, -1)]
    second = msgspec.structs.replace(
        stored(30), label=-1, moderator="bob", prediction_id="p-10", replaces=ReplacedLabel(20, 1, "f-20", "ann")
    )
    service.tenants.given_labels = [
        (second, None),
        *((each, REPLACED if each.version == 20 else None) for each in plain),
    ]


async def shown(service: Service, query: str = "") -> dict[str, Any]:
    answer = await service.client.get(PATH + query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_moderators_are_shown_with_their_figures(service: Service) -> None:
    found = await shown(service)
    bob, ann = found["moderators"]
    assert (found["labels"], found["has_more"], found["unnamed"]) == (21, False, 0)
    assert (bob["moderator"], bob["key_id"], bob["labels"], bob["taken_back"]) == ("bob", None, 11, 0)
    assert (ann["replaced_by_others"], ann["overturned_by_others"], ann["labels"]) == (1, 1, 10)
    assert (ann["served"], ann["served_agreement"]) == (8, 3 / 8)


async def test_pairs_are_shown_and_what_is_unknown_has_a_reason(service: Service) -> None:
    found = await shown(service)
    (pair,) = found["pairs"]
    assert (pair["first"]["moderator"], pair["second"]["moderator"], pair["blind"]) == ("ann", "bob", 0)
    assert pair["kappa"]["pairs"] == found["overall"]["corrections"]["pairs"] == 1
    assert found["overall"]["blind"] == {
        "pairs": 0, "agreement": None, "value": None, "low": None, "high": None,
        "reason": "nobody has labelled what somebody else has labelled too",
    }  # fmt: skip
    assert (found["differences"], found["differences_unknown"]) == ([], None)


async def test_a_time_can_be_given(service: Service) -> None:
    assert (await shown(service, "?since=2026-11-18T09:00:19Z"))["labels"] == 3
    assert (await shown(service, "?until=2026-11-18T09:00:03Z"))["labels"] == 2


async def test_not_all_labels_are_read(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.api.routes.review.moderators.MOST_LABELS", 5)
    found = await shown(service)
    assert (found["labels"], found["has_more"]) == (5, True)


@pytest.mark.parametrize(("query", "status"), [("?since=yesterday", 422), ("?limit=3", 422)])
async def test_wrong_parameters_are_refused(service: Service, query: str, status: int) -> None:
    assert (await service.client.get(PATH + query)).status_code == status


async def test_an_unknown_tenant_gets_404(service: Service) -> None:
    assert (await service.client.get("/tenants/other/moderators")).status_code == 404
