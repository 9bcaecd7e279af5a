"""POST /tenants/{tenant}/retract: what it accepts, and who may ask for it."""

from typing import Any

import pytest

from tests.api.conftest import Service
from tests.api.test_authorisation import Guarded, guarded  # noqa: F401 - a fixture

pytestmark = pytest.mark.anyio
PATH = "/tenants/acme/retract"


@pytest.fixture
async def _tenant(service: Service) -> None:
    await service.tenants.hold("acme")


@pytest.mark.usefixtures("_tenant")
async def test_the_labels_are_named_in_one_of_three_ways(service: Service) -> None:
    body = {"key_id": "k", "since": "2026-11-18T10:00:00+01:00", "until": "2026-11-18T10:00:00Z", "reason": "stolen"}
    for given in ({"feedback_ids": ["a", "b"]}, {"moderator": "ann", "dry_run": True}, body):
        answer = await service.client.post(PATH, json=given)
        assert answer.status_code == 200, answer.text
        assert answer.json()["dry_run"] is given.get("dry_run", False)
    (_, ids, _, _), (_, who, _, dry_run), (_, key, asked, _) = service.tenants.retractions
    assert (ids.feedback_ids, who.moderator, dry_run) == (frozenset("ab"), "ann", True)
    assert (key.key_id, asked.reason) == ("k", "stolen")
    assert key.since == 1_794_992_400_000
    assert key.until == 1_794_996_000_000


@pytest.mark.usefixtures("_tenant")
@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({}, "exactly one of feedback_ids, moderator and key_id"),
        ({"moderator": "a", "key_id": "b"}, "exactly one of feedback_ids, moderator and key_id"),
        ({"feedback_ids": []}, "feedback_ids"),
        ({"feedback_ids": [7]}, "feedback_ids"),
        ({"feedback_ids": ["a"], "since": "2026-11-18T10:00:00Z"}, "not with feedback_ids"),
        ({"moderator": "a", "since": "yesterday"}, "a time with its zone"),
        ({"moderator": "a", "since": "2026-11-18T10:00:00"}, "a time with its zone"),
        ({"moderator": "a", "reason": "x" * 501}, "reason"),
        ({"moderator": "a", "label": 1}, "label"),
    ],
)
async def test_a_wrong_body_is_refused_with_a_sentence(service: Service, body: dict[str, Any], sentence: str) -> None:
    answer = await service.client.post(PATH, json=body)
    assert answer.status_code == 422
    assert sentence in answer.json()["detail"]
    assert service.tenants.retractions == []


async def test_an_unknown_tenant_is_not_created(service: Service) -> None:
    answer = await service.client.post("/tenants/other/retract", json={"moderator": "ann"})
    assert answer.status_code == 404
    assert service.tenants.tenants == {}


async def test_without_the_role_admin_only_own_labels(guarded: Guarded) -> None:  # noqa: F811 - the fixture
    await guarded.tenants.hold("mine")
    path, body = "/tenants/mine/retract", {"feedback_ids": ["a"]}
    for roles, status in {("predict",): 403, ("review",): 403, ("feedback",): 200, ("feedback", "admin"): 200}.items():
        assert (await guarded.ask("POST", path, await guarded.key(*roles), json=body)).status_code == status
    assert [asked.only_own for _, _, asked, _ in guarded.tenants.retractions] == [True, False]
    assert [(entry.action, entry.detail) for entry in guarded.audit.entries] == [
        ("retract_labels", "feedback_ids a")
    ] * 2
    dry_run = {"moderator": "ann", "since": "2026-11-18T10:00:00Z", "dry_run": True}
    assert (await guarded.ask("POST", path, await guarded.key("feedback"), json=dry_run)).status_code == 200
    await guarded.ask("POST", path, await guarded.key("feedback"), json=dry_run | {"dry_run": False, "by": "bob"})
    assert len(guarded.audit.entries) == 3, "a dry run changes nothing"
    assert guarded.audit.entries[2].detail == "moderator ann since 2026-11-18T10:00:00Z"
    assert guarded.tenants.retractions[-1][2].moderator == "bob"
    foreign = await guarded.ask("POST", "/tenants/theirs/retract", await guarded.key("feedback"), json=body)
    assert foreign.status_code == 403
    assert len(guarded.audit.entries) == 3
