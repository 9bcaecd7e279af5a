"""POST /predict/batch and /feedback/batch as JSON."""

import asyncio
import time
from typing import Any

import msgspec
import pytest

from tests.api.conftest import LIMITS, Service

pytestmark = pytest.mark.anyio


async def test_results_are_in_the_order_of_the_items(service: Service) -> None:
    await service.client.post("/feedback", json={"tenant": "acme", "features": {"a": 1}, "label": 1})
    await service.client.post("/feedback", json={"tenant": "acme", "features": {"b": 1}, "label": -1})
    asked = [{"features": {"a": 1}}, {"features": {"b": 1}, "keep": False}, {"features": {"a": 1}, "explain": 1}]
    answer = await service.client.post("/predict/batch", json={"tenant": "acme", "items": asked})
    results = answer.json()["results"]
    assert answer.status_code == 200
    assert [each["label"] for each in results] == [1, -1, 1]
    assert results[1]["prediction_id"] is None
    assert results[2]["explanation"][0]["feature"] == "a"


async def test_a_batch_answers_like_single_requests(service: Service) -> None:
    await service.client.post("/feedback", json={"tenant": "acme", "features": {"a": 1, "b": 2}, "label": 1})
    item = {"features": {"a": 3, "c": 1}, "explain": 5, "keep": False}
    single = await service.client.post("/predict", json={"tenant": "acme"} | item)
    batch = await service.client.post("/predict/batch", json={"tenant": "acme", "items": [item]})
    assert batch.json()["results"] == [single.json()]


BAD: list[tuple[Any, str, int]] = [
    ({"features": {}}, "bad-features", 422),
    ({}, "bad-input", 422),
    (7, "bad-input", 422),
    (None, "bad-input", 422),
    ({"features": {"a": None}}, "bad-features", 422),
    ({"features": {"a": 1}, "surprise": 1}, "bad-input", 422),
    ({"tenant": "other", "features": {"a": 1}}, "bad-input", 422),
    ({"url": "http://x", "text": "x"}, "bad-input", 422),
    ({"email": {"base64": "*"}}, "bad-input", 422),
    ({"text": ""}, "bad-features", 422),
    ({"features": {f"f{i}": 1 for i in range(501)}}, "too-large", 413),
]


@pytest.mark.parametrize(("bad", "name", "status"), BAD)
@pytest.mark.parametrize("route", ["/predict/batch", "/feedback/batch"])
async def test_a_bad_item_gets_an_error_in_its_place(
    service: Service,
    route: str,
    bad: Any,  # noqa: ANN401 - any JSON
    name: str,
    status: int,
) -> None:
    label = {"label": 1} if route == "/feedback/batch" else {}
    good = {"features": {"a": 1}} | label
    bad = bad | label if isinstance(bad, dict) else bad
    answer = await service.client.post(route, json={"tenant": "acme", "items": [good, bad, good]})
    first, error, last = answer.json()["results"]
    assert answer.status_code == 200
    assert "error" not in first
    assert "error" not in last
    assert (error["error"]["type"], error["error"]["status"]) == (f"/problems/{name}", status)
    assert error["error"].keys() == {"type", "title", "status", "detail"}


async def test_all_valid_feedback_of_a_batch_is_given_in_one_call(service: Service) -> None:
    items: list[dict[str, Any]] = [{"features": {"a": 1}, "label": 1, "feedback_id": f"f{i}"} for i in range(5)]
    items[2]["label"] = 3
    answer = await service.client.post("/feedback/batch", json={"tenant": "acme", "items": items})
    results = answer.json()["results"]
    assert service.tenants.feedback_writer.calls == [4]
    assert [each.get("feedback_id") for each in results] == ["f0", "f1", None, "f3", "f4"]
    assert [each.get("version") for each in results] == [1, 2, None, 3, 4]


async def test_feedback_of_a_batch_may_use_prediction_ids(service: Service) -> None:
    predicted = [
        (await service.client.post("/predict", json={"tenant": "acme", "features": {name: 1}})).json()["prediction_id"]
        for name in "ab"
    ]
    items = [{"prediction_id": each, "label": 1} for each in (predicted[1], "gone", predicted[0])]
    answer = await service.client.post("/feedback/batch", json={"tenant": "acme", "items": items})
    assert [list(each.example.names) for each in service.tenants.feedback_writer.received] == [["b"], ["a"]]
    assert answer.json()["results"][1]["error"]["status"] == 410


async def test_a_conflict_is_the_result_of_its_item(service: Service) -> None:
    items = [{"features": {"a": 1}, "label": label, "feedback_id": "f"} for label in (1, -1, 1)]
    answer = await service.client.post("/feedback/batch", json={"tenant": "acme", "items": items})
    first, conflict, retry = answer.json()["results"]
    assert (first["duplicate"], conflict["error"]["status"], retry["duplicate"]) == (False, 409, True)


async def test_feedback_that_cannot_be_logged_fails_as_a_whole(service: Service) -> None:
    await service.client.put("/tenants/acme")
    service.tenants.trouble = "Redis is down"
    asked = {"tenant": "acme", "items": [{"features": {"a": 1}, "label": 1}, {}]}
    answer = await service.client.post("/feedback/batch", json=asked)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")


async def test_a_batch_refuses_an_idempotency_key(service: Service) -> None:
    asked = {"tenant": "acme", "items": [{"features": {"a": 1}, "label": 1}]}
    answer = await service.client.post("/feedback/batch", json=asked, headers={"Idempotency-Key": "k"})
    assert answer.status_code == 422
    assert service.tenants.feedback_writer.calls == []


@pytest.mark.parametrize("route", ["/predict/batch", "/feedback/batch"])
async def test_a_batch_may_be_empty(service: Service, route: str) -> None:
    answer = await service.client.post(route, json={"tenant": "acme", "items": []})
    assert answer.json() == {"results": []}


@pytest.mark.parametrize("route", ["/predict/batch", "/feedback/batch"])
async def test_too_many_items_are_refused(service: Service, route: str) -> None:
    answer = await service.client.post(route, json={"tenant": "acme", "items": [{}] * 21})
    assert answer.status_code == 413
    assert "21 items; the limit is 20 items (SLUICE_MAX_BATCH_ITEMS)" in answer.json()["detail"]


@pytest.mark.parametrize("route", ["/predict/batch", "/feedback/batch"])
@pytest.mark.parametrize(
    "body", [b'{"tenant":"acme","items":[{]}', b'{"items":[]}', b'{"tenant":"acme"}', b'{"tenant":"acme","items":{}}']
)
async def test_a_batch_that_cannot_be_read_is_refused_as_a_whole(service: Service, route: str, body: bytes) -> None:
    assert (await service.client.post(route, content=body)).status_code == 422


@pytest.mark.parametrize("route", ["/predict/batch", "/feedback/batch"])
@pytest.mark.parametrize(
    ("query", "status"), [("tenant=acme", 200), ("tenant=other", 422), ("tenant=", 422), ("x=1", 422)]
)
async def test_the_query_must_mean_the_same_tenant(service: Service, route: str, query: str, status: int) -> None:
    answer = await service.client.post(f"{route}?{query}", json={"tenant": "acme", "items": []})
    assert answer.status_code == status


async def test_an_internal_error_is_the_result_of_its_item_and_is_logged(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    await service.client.put("/tenants/acme")
    service.pending.keep = lambda *_: 1 / 0  # type: ignore[method-assign,assignment]
    asked = {"tenant": "acme", "items": [{"features": {"a": 1}}, {"features": {"a": 1}, "keep": False}]}
    answer = await service.client.post("/predict/batch", json=asked, headers={"X-Request-ID": "r-7"})
    broken, good = answer.json()["results"]
    assert (broken["error"]["status"], broken["error"]["detail"]) == (500, "an unexpected error; it was logged")
    assert good["label"] == -1
    assert "r-7" in caplog.text
    assert "ZeroDivisionError" in caplog.text


async def test_a_long_batch_lets_others_work(service: Service) -> None:
    """A thousand features an item: the loop must come round while the batch is worked on."""
    service.app.state.backend = service.app.state.backend._replace(
        limits=LIMITS  # those of a real service
    )
    items = [{"features": {f"f{i}": 1 for i in range(1000)}}] * 300
    body = msgspec.json.encode({"tenant": "acme", "items": items})
    await service.client.put("/tenants/acme")
    longest, done = 0.0, False

    async def watch() -> None:
        nonlocal longest
        while not done:
            start = time.perf_counter()
            await asyncio.sleep(0)
            longest = max(longest, time.perf_counter() - start)

    turns = asyncio.create_task(watch())
    start = time.perf_counter()
    await service.client.post("/predict/batch", content=body)
    took = time.perf_counter() - start
    done = True
    await turns
    assert longest < took / 2
