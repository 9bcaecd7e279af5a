"""Keys that carry a moderator's name: whose labels are given with them, and which names are refused."""

from typing import Any

import httpx
import msgspec
import pytest

from tests.api.test_authorisation import Guarded, guarded  # noqa: F401 - a fixture

pytestmark = pytest.mark.anyio
ITEM = {"features": {"a": 1}, "label": 1}
REFUSED = "this key carries the name 'kim', and cannot speak for 'lee'"


def named(moderator: str | None) -> dict[str, Any]:
    return ITEM if moderator is None else ITEM | {"moderator": moderator}


async def give(guarded: Guarded, headers: dict[str, str], **fields: object) -> httpx.Response:  # noqa: F811 - the fixture
    return await guarded.ask("POST", "/feedback", headers, json={"tenant": "mine", **ITEM, **fields})


def moderators(guarded: Guarded) -> list[str | None]:  # noqa: F811 - the fixture
    return [given.moderator for given in guarded.tenants.feedback_writer.received]


async def test_the_name_of_the_key_is_stored_with_a_label(guarded: Guarded) -> None:  # noqa: F811
    headers = await guarded.key("feedback", moderator="kim")
    for fields in ({}, {"moderator": None}, {"moderator": "kim"}):
        assert (await give(guarded, headers, **fields)).status_code == 200
    assert moderators(guarded) == ["kim"] * 3


async def test_another_name_is_refused(guarded: Guarded) -> None:  # noqa: F811
    answer = await give(guarded, await guarded.key("feedback", moderator="kim"), moderator="lee")
    problem = answer.json()
    assert (answer.status_code, problem["type"], problem["detail"]) == (403, "/problems/not-this-moderator", REFUSED)
    assert moderators(guarded) == []


async def test_a_key_that_speaks_for_others_may_give_another_name(guarded: Guarded) -> None:  # noqa: F811
    headers = await guarded.key("feedback", moderator="kim", speaks_for_others=True)
    for fields in ({}, {"moderator": "kim"}, {"moderator": "lee"}):
        assert (await give(guarded, headers, **fields)).status_code == 200
    assert moderators(guarded) == ["kim", "kim", "lee"]
    assert (await give(guarded, headers, moderator="a\nb")).status_code == 422


async def test_with_a_key_without_a_name_the_body_counts(guarded: Guarded) -> None:  # noqa: F811
    headers = await guarded.key("feedback")
    for fields in ({}, {"moderator": "kim"}, {"moderator": "lee"}):
        assert (await give(guarded, headers, **fields)).status_code == 200
    assert moderators(guarded) == [None, "kim", "lee"]


async def test_in_a_batch_each_item_is_refused_on_its_own(guarded: Guarded) -> None:  # noqa: F811
    headers = await guarded.key("feedback", moderator="kim")
    items = [named(None), named("lee"), {"label": 7}, named("kim")]
    answer = await guarded.ask("POST", "/feedback/batch", headers, json={"tenant": "mine", "items": items})
    assert answer.status_code == 200
    errors = [result.get("error", {}) for result in answer.json()["results"]]
    assert [error.get("status") for error in errors] == [None, 403, 422, None]
    assert (errors[1]["type"], errors[1]["detail"]) == ("/problems/not-this-moderator", REFUSED)
    assert moderators(guarded) == ["kim", "kim"]


async def test_in_a_stream_each_line_is_refused_on_its_own(guarded: Guarded) -> None:  # noqa: F811
    headers = await guarded.key("feedback", moderator="kim") | {"Content-Type": "application/x-ndjson"}
    lines = b"\n".join(msgspec.json.encode(named(moderator)) for moderator in ("lee", None, "kim"))
    answer = await guarded.ask("POST", "/feedback/batch?tenant=mine", headers, content=lines)
    results = [msgspec.json.decode(line) for line in answer.content.splitlines()]
    assert [result.get("error", {}).get("status") for result in results] == [403, None, None]
    assert moderators(guarded) == ["kim", "kim"]


async def test_an_email_takes_its_name_from_the_key_too(guarded: Guarded) -> None:  # noqa: F811
    headers = await guarded.key("feedback", moderator="kim") | {"Content-Type": "message/rfc822"}
    mail = b"Subject: prize\r\n\r\nClaim your prize.\r\n"
    for query, status in (("", 200), ("&moderator=kim", 200), ("&moderator=lee", 403)):
        answer = await guarded.ask("POST", f"/feedback?tenant=mine&label=1{query}", headers, content=mail)
        assert answer.status_code == status, answer.text
    assert moderators(guarded) == ["kim", "kim"]


async def test_a_label_by_prediction_id_takes_its_name_from_the_key_too(guarded: Guarded) -> None:  # noqa: F811
    headers = await guarded.key("predict", "feedback", moderator="kim")
    predicted = await guarded.ask("POST", "/predict", headers, json={"tenant": "mine", "features": {"a": 1}})
    body = {"tenant": "mine", "label": 1, "prediction_id": predicted.json()["prediction_id"]}
    assert (await guarded.ask("POST", "/feedback", headers, json=body | {"moderator": "lee"})).status_code == 403
    assert (await guarded.ask("POST", "/feedback", headers, json=body)).status_code == 200
    assert moderators(guarded) == ["kim"]


async def test_a_retry_gets_the_first_answer_with_or_without_the_name(guarded: Guarded) -> None:  # noqa: F811
    headers = await guarded.key("feedback", moderator="kim")
    first = (await give(guarded, headers, feedback_id="f-1")).json()
    for fields in ({}, {"moderator": "kim"}):
        assert (await give(guarded, headers, feedback_id="f-1", **fields)).json() == first | {"duplicate": True}


async def test_the_label_rate_counts_by_the_name_of_the_key(guarded: Guarded) -> None:  # noqa: F811
    one, other = await guarded.key("feedback", moderator="kim"), await guarded.key("feedback", moderator="kim")
    statuses = [(await give(guarded, headers)).status_code for headers in (one, other, one, other)]
    assert statuses == [200, 200, 200, 429]
    assert (await give(guarded, one, moderator="lee")).status_code == 403
    assert (await give(guarded, await guarded.key("feedback", moderator="lee"))).status_code == 200


async def test_a_retraction_is_asked_for_by_the_name_of_the_key(guarded: Guarded) -> None:  # noqa: F811
    await guarded.tenants.hold("mine")
    kim, page = await guarded.key("feedback", moderator="kim"), await guarded.key("feedback")
    chief = await guarded.key("feedback", "admin", moderator="ann", speaks_for_others=True)
    for headers, by, status in (
        (kim, None, 200), (kim, "kim", 200), (kim, "lee", 403), (chief, None, 200), (chief, "lee", 200),
        (page, None, 200), (page, "lee", 200),
    ):  # fmt: skip
        body = {"feedback_ids": ["f-1"], "by": by}
        answer = await guarded.ask("POST", "/tenants/mine/retract", headers, json=body)
        assert answer.status_code == status, answer.text
        if status == 403:
            assert (answer.json()["type"], answer.json()["detail"]) == ("/problems/not-this-moderator", REFUSED)
    assert [asked.moderator for _, _, asked, _ in guarded.tenants.retractions] == [
        "kim", "kim", "ann", "lee", None, "lee"
    ]  # fmt: skip
    assert len(guarded.audit.entries) == 6, "a refused request is not noted"


async def test_a_key_shows_its_moderator_and_keeps_it_when_it_is_rotated(guarded: Guarded) -> None:  # noqa: F811
    headers = await guarded.key("admin")
    wanted = {"roles": ["feedback"], "tenants": ["mine"], "moderator": "kim"}
    for speaks_for_others in (False, True):
        body = wanted | {"speaks_for_others": speaks_for_others}
        made = (await guarded.ask("POST", "/keys", headers, json=body)).json()["key"]
        rotated = (await guarded.ask("POST", f"/keys/{made['id']}/rotate", headers)).json()["key"]
        listed = {key["id"]: key for key in (await guarded.ask("GET", "/keys", headers)).json()["keys"]}
        for key in (made, rotated, listed[made["id"]], listed[rotated["id"]]):
            assert (key["moderator"], key["speaks_for_others"]) == ("kim", speaks_for_others)
        noted = f", moderator 'kim'{' and others' if speaks_for_others else ''}"
        assert str(guarded.audit.entries[-1].detail).endswith(noted)
    plain = (await guarded.ask("GET", "/keys", headers)).json()["keys"][0]
    assert (plain["moderator"], plain["speaks_for_others"]) == (None, False)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"speaks_for_others": True}, "speaks_for_others needs a moderator"),
        ({"moderator": None, "speaks_for_others": True}, "speaks_for_others needs a moderator"),
        ({"moderator": ""}, "1 to 200 characters"),
        ({"moderator": "a\nb"}, "no control characters"),
        ({"moderator": 7}, "moderator"),
        ({"moderator": "kim", "speaks_for_others": "yes"}, "speaks_for_others"),
    ],
)
async def test_a_wrong_moderator_is_refused_with_a_sentence(
    guarded: Guarded,  # noqa: F811
    fields: dict[str, Any],
    sentence: str,
) -> None:
    headers = await guarded.key("admin")
    answer = await guarded.ask("POST", "/keys", headers, json={"roles": ["feedback"], "tenants": ["mine"], **fields})
    assert answer.status_code == 422
    assert sentence in answer.json()["detail"]
