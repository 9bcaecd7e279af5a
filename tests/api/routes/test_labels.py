"""GET /tenants/{tenant}/labels: filters, pages and files."""

import csv
import io
import json
from functools import partial
from typing import Any

import msgspec
import pytest

from app.learning.events import ReplacedLabel
from app.learning.example import example_of
from app.storage.review.inputs import RawInput
from app.tenants.labels.stored_labels import Retraction, StoredLabel
from tests.api.conftest import Service

pytestmark = pytest.mark.anyio
PATH = "/tenants/acme/labels"
EXAMPLE = example_of({"a": 1.0})
TAKEN_BACK = Retraction(99, 1_000_099, "stolen, or lent", None, "k9")


def stored(version: int) -> StoredLabel:
    return StoredLabel(
        version=version,
        hash=bytes([version]),
        at_milliseconds=1_794_992_400_000 + 1000 * version,
        label=1 if version % 3 else -1,
        feedback_id=f"f-{version}",
        prediction_id=f"p-{version // 2}",
        moderator=("ann", "bob")[version % 2],
        key_id=None,
        request_id="r",
        served_label=-1 if version % 5 else None,
        served_score=-0.5 if version % 5 else None,
        served_at_milliseconds=None,
        replaces=ReplacedLabel(version - 1, 1, f"f-{version - 1}", "bob") if version % 7 == 0 else None,
    )


@pytest.fixture(autouse=True)
async def _labels(service: Service) -> None:
    await service.tenants.hold("acme")
    service.tenants.given_labels = [(stored(k), TAKEN_BACK if k % 4 == 0 else None) for k in range(30, 0, -1)]


async def versions(service: Service, query: str) -> list[int]:
    answer = await service.client.get(f"{PATH}?{query}")
    assert answer.status_code == 200, answer.text
    return [label["version"] for label in answer.json()["labels"]]


async def test_the_newest_come_first_page_by_page(service: Service) -> None:
    found: list[int] = []
    before: int | None = None
    for _ in range(5):
        answer: dict[str, Any] = (
            await service.client.get(PATH, params={"limit": 7} | ({"before": before} if before else {}))
        ).json()
        found += [label["version"] for label in answer["labels"]]
        before = answer["next"]
    assert found == list(range(30, 0, -1))
    assert before is None


async def test_a_label_shows_who_gave_it_and_who_took_it_back(service: Service) -> None:
    (label,) = (await service.client.get(f"{PATH}?feedback_id=f-8")).json()["labels"]
    assert label == {
        "version": 8, "at": 1_794_992_408_000, "label": 1, "feedback_id": "f-8", "prediction_id": "p-4",
        "moderator": "ann", "key_id": None, "request_id": "r", "served_label": -1, "served_score": -0.5,
        "served_at": None, "chosen_with": None, "replaced": None, "excerpt": None,
        "retracted": {"version": 99, "at": 1_000_099, "reason": "stolen, or lent", "moderator": None, "key_id": "k9",
                      "is_replacement": False},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("moderator=bob&limit=3", [29, 27, 25]),
        ("label=-1&limit=3", [30, 27, 24]),
        ("prediction_id=p-5", [11, 10]),
        ("key_id=k", []),
        ("retracted=true&limit=2", [28, 24]),
        ("retracted=false&limit=3", [30, 29, 27]),
        ("disagreements=true", [21]),
        ("disagreements=false&limit=3", [30, 29, 28]),
        ("since=2026-11-18T09:00:28Z", [30, 29, 28]),
        ("until=2026-11-18T09:00:03Z", [2, 1]),
        ("before=3", [2, 1]),
    ],
)
async def test_filters(service: Service, query: str, expected: list[int]) -> None:
    assert await versions(service, query) == expected


async def test_files_have_all_labels_that_fit(service: Service) -> None:
    answer = await service.client.get(f"{PATH}?format=csv&moderator=ann")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [int(row["version"]) for row in rows] == list(range(30, 0, -2))
    assert (rows[1]["retracted_reason"], rows[0]["retracted_reason"]) == ("stolen, or lent", "")
    lines = (await service.client.get(f"{PATH}?format=jsonl&retracted=true")).text.splitlines()
    assert [json.loads(line)["version"] for line in lines] == [28, 24, 20, 16, 12, 8, 4]


@pytest.mark.parametrize("name", ['=HYPERLINK("http://example.org")', "+1", "-1", "@sum"])
async def test_no_cell_of_a_file_is_a_formula(service: Service, name: str) -> None:
    label = msgspec.structs.replace(stored(1), label=-1, feedback_id=name, moderator=name)
    service.tenants.given_labels = [(label, msgspec.structs.replace(TAKEN_BACK, reason=name))]
    text = (await service.client.get(f"{PATH}?format=csv")).text
    (row,) = csv.DictReader(io.StringIO(text))
    assert {row["feedback_id"], row["moderator"], row["retracted_reason"]} == {"'" + name}
    assert (row["label"], row["served_score"]) == ("-1", "-0.5")
    (line,) = (await service.client.get(f"{PATH}?format=jsonl")).text.splitlines()
    assert json.loads(line)["moderator"] == name


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=1001",
        "label=2",
        "since=yesterday",
        "until=2026-11-18",
        "format=xml",
        "retracted=1",
        "x=1",
        "before=0",
    ],
)
async def test_a_wrong_parameter_is_refused(service: Service, query: str) -> None:
    answer = await service.client.get(f"{PATH}?{query}")
    assert answer.status_code == 422
    assert query.split("=", maxsplit=1)[0] in answer.json()["detail"]


async def test_an_unknown_tenant_is_not_created(service: Service) -> None:
    assert (await service.client.get("/tenants/other/labels")).status_code == 404


async def test_the_beginning_of_an_input_is_shown_if_it_is_asked_for_and_kept(service: Service) -> None:
    tenant = await service.tenants.configure("acme", {"keep_inputs": "all"})
    mail = "Subject: Win a prize\r\n\r\n" + "now " * 10_000
    raws: list[tuple[str, str | bytes]] = [("url", "http://example.org/" + "a" * 400), ("email", mail), ("text", b"hi")]
    kept = [service.pending.keep(tenant, b"{}", tenant.predict(EXAMPLE), partial(RawInput, *raw)) for raw in raws]
    service.tenants.given_labels = [
        (msgspec.structs.replace(stored(9 - k), prediction_id=each.prediction_id), None)
        for k, each in enumerate(kept)
        if each is not None
    ]
    found = (await service.client.get(f"{PATH}?inputs=true")).json()["labels"]
    assert [label["excerpt"] for label in found] == [str(raws[0][1])[:300], "Win a prize", "hi"]
    found = (await service.client.get(PATH)).json()["labels"]
    assert [label["excerpt"] for label in found] == [None] * 3
