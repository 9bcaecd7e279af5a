"""Items scored together get the same answers as each alone."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from app.api.fast_path import batch_scores
from app.api.fast_path.batch_scores import MAX_BYTES, MAX_ITEMS, slices
from app.learning.example import Examples, examples_of_json
from tests.api.conftest import Service
from tests.api.exchanges import Headers, exchange

LINES = [(b"content-type", b"application/x-ndjson")]
USUAL: list[dict[str, Any]] = [{"features": {f"f{i}": 1, "g": i}} for i in range(8)]
UNUSUAL: list[dict[str, Any]] = [
    {"features": {"a": 1}, "explain": 1},
    {"features": {"\\": 1}},
    {"features": {"a": 1}, "tenant": "acme"},
    {"features": {"a": 1}, "keep": False},
    {"features": {}},
    {"features": {"a": "x"}},
    {"features": {"a": None}},
    {"features": {f"f{i}": 1 for i in range(51)}},
    {"features": {"a": 1}, "tenant": "other"},
    {"url": "http://x"},
    {"text": "a few words", "explain": 3},
    {"email": {"base64": "U3ViamVjdDogaGkNCg0KaGkNCg=="}},
    {},
]


@pytest.fixture
async def taught(service: Service) -> Service:
    for item in USUAL:
        label = 1 if item["features"]["g"] % 2 else -1
        await service.client.post("/feedback", json=item | {"tenant": "acme", "label": label})
    return service


async def asked_alone(service: Service, item: dict[str, Any]) -> dict[str, Any]:
    answer = await service.client.post("/predict/batch", json={"tenant": "acme", "items": [item]})
    [result] = answer.json()["results"]
    return without_id(result)


def without_id(result: dict[str, Any]) -> dict[str, Any]:
    """Ids are never the same; that there is one is what counts."""
    return result | {"prediction_id": result.get("prediction_id") is not None}


@pytest.mark.anyio
@pytest.mark.parametrize("item", [*USUAL[:1], *UNUSUAL], ids=str)
async def test_a_batch_equals_single_requests(taught: Service, item: dict[str, Any]) -> None:
    items = [*USUAL, item, *USUAL]
    expected = [await asked_alone(taught, each) for each in items]
    answer = await taught.client.post("/predict/batch", json={"tenant": "acme", "items": items})
    assert [without_id(each) for each in answer.json()["results"]] == expected


@pytest.mark.anyio
@pytest.mark.parametrize("item", [*USUAL[:1], *UNUSUAL], ids=str)
async def test_lines_equal_single_requests(taught: Service, item: dict[str, Any]) -> None:
    items = [*USUAL, item, *USUAL]
    expected = [await asked_alone(taught, each) for each in items]
    body = msgspec.json.Encoder().encode_lines(items)
    sent = await exchange(taught.app, "/predict/batch", [body], LINES, query=b"tenant=acme")
    assert [without_id(each) for each in sent.lines()] == expected


@pytest.mark.anyio
async def test_consecutive_lines_of_one_tenant_are_scored_together(
    taught: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    await taught.client.put("/tenants/other")
    asked: list[int] = []

    def counting(texts: Sequence[bytes]) -> Examples | None:
        asked.append(len(texts))
        return examples_of_json(texts)

    monkeypatch.setattr(batch_scores, "examples_of_json", counting)
    tenants = ["acme"] * 3 + ["other"] * 2 + ["acme"]
    items = [{"tenant": tenant} | item for tenant, item in zip(tenants, USUAL, strict=False)]
    sent = await exchange(taught.app, "/predict/batch", [msgspec.json.Encoder().encode_lines(items)], LINES)
    assert asked == [3, 2, 1]
    assert [line["tenant"] for line in sent.lines()] == tenants


@pytest.mark.anyio
@pytest.mark.parametrize("lines", [False, True])
async def test_items_scored_together_have_their_own_ids(taught: Service, lines: bool) -> None:
    body = msgspec.json.encode({"tenant": "acme", "items": USUAL})
    headers: Headers = ()
    if lines:
        body, headers = msgspec.json.Encoder().encode_lines([{"tenant": "acme"} | item for item in USUAL]), LINES
    sent = await exchange(taught.app, "/predict/batch", [body], headers)
    results = sent.lines() if lines else msgspec.json.decode(sent.body)["results"]
    for item, result in zip(USUAL, results, strict=True):
        kept = await taught.pending.recall("acme", result["prediction_id"])
        assert msgspec.json.decode(kept.given)["features"] == item["features"]
        assert (kept.label, kept.score) == (result["label"], result["score"])


@pytest.mark.parametrize(
    ("sizes", "lengths"),
    [
        ([], []),
        ([1], [1]),
        ([0] * MAX_ITEMS, [MAX_ITEMS]),
        ([1] * (2 * MAX_ITEMS + 1), [MAX_ITEMS, MAX_ITEMS, 1]),
        ([MAX_BYTES, 1, MAX_BYTES - 1, 1], [1, 2, 1]),
        ([2 * MAX_BYTES] * 3, [1, 1, 1]),
        ([1, 2 * MAX_BYTES, 1], [1, 1, 1]),
    ],
)
def test_slices_are_short_enough_and_leave_nothing_out(sizes: list[int], lengths: list[int]) -> None:
    items = list(range(len(sizes)))
    found = list(slices(items, sizes))
    assert [len(some) for some in found] == lengths
    assert [each for some in found for each in some] == items
