"""The limit on the length of feature names applies to every route that accepts features, and to nothing else."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from app.api.fast_path.inputs import may_exceed_name_limit
from app.api.fast_path.messages import PredictItem
from tests.api.conftest import LIMITS, Service
from tests.api.exchanges import exchange

pytestmark = pytest.mark.anyio
LONGEST = 20
SETTING = "SLUICE_MAX_FEATURE_NAME_BYTES"
LINES = [(b"content-type", b"application/x-ndjson")]
TOO_LONG = {
    "plain": {"b": 1, "a" * (LONGEST + 1): 1},
    "escaped": {"b": 1, "\\" * (LONGEST + 1): 1},
    "not ASCII": {"b": 1, "é" * (LONGEST // 2) + "a": 1},
    "by its text": {"b": 1, "browser": "x" * (LONGEST - 7)},
    "true": {"b": 1, "a" * (LONGEST + 1): True},
}
FITTING = {
    "plain": {"b": 1, "a" * LONGEST: 1},
    "escaped": {"b": 1, "\\" * LONGEST: 1},
    "not ASCII": {"b": 1, "é" * (LONGEST // 2): 1},
    "by its text": {"b": 1, "browser": "x" * (LONGEST - 8)},
    "many": {f"feature number {k}": 1 for k in range(100)},
    "a long number": {"b": 1, "c": 0.12345678901234567, "d": 1},
}


@pytest.fixture
def narrow(service: Service) -> Service:
    narrowed(service, LONGEST)
    return service


def narrowed(service: Service, longest: int) -> None:
    served = service.app.state.backend
    service.app.state.backend = served._replace(limits=replace(LIMITS, max_feature_name_bytes=longest))


async def results(service: Service, features: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the results of every way to send features."""
    item = {"tenant": "acme", "features": features}
    labelled = item | {"label": 1}
    found = [
        (await service.client.post(path, json=body)).json()
        for path, body in (("/predict", item), ("/feedback", labelled), ("/features", {"features": features}))
    ]
    for path, each in (("/predict/batch", item), ("/feedback/batch", labelled)):
        batch = await service.client.post(path, json={"tenant": "acme", "items": [each, each]})
        sent = await exchange(service.app, path, [msgspec.json.Encoder().encode_lines([each, each])], LINES)
        found += batch.json()["results"] + sent.lines()
    return [each.get("error", each) for each in found]


@pytest.mark.parametrize("features", TOO_LONG.values(), ids=TOO_LONG)
async def test_a_name_that_is_too_long_is_refused_everywhere(narrow: Service, features: dict[str, Any]) -> None:
    await narrow.client.put("/tenants/acme")
    for result in await results(narrow, features):
        assert (result["type"], result["status"]) == ("/problems/too-large", 413)
        assert f"has {LONGEST + 1} bytes; the limit is {LONGEST} bytes ({SETTING})" in result["detail"]
    assert (await narrow.client.get("/tenants/acme")).json()["version"] == 0


@pytest.mark.parametrize("features", FITTING.values(), ids=FITTING)
async def test_a_name_within_the_limit_is_accepted_by_every_route(narrow: Service, features: dict[str, Any]) -> None:
    await narrow.client.put("/tenants/acme")
    assert [result for result in await results(narrow, features) if "status" in result] == []


async def test_the_culprit_is_named_in_short(narrow: Service) -> None:
    answer = await narrow.client.post("/predict", json={"tenant": "acme", "features": {"b": 1, "xyz" * 1000: 1}})
    assert "the name of feature 'xyzxyz" in answer.json()["detail"]
    assert "has 3,000 bytes" in answer.json()["detail"]
    assert len(answer.json()["detail"]) < 250


async def test_names_from_raw_inputs_are_not_limited(narrow: Service) -> None:
    url = f"http://{'long' * 9}.example.org/"
    for path, more in (("/predict", {}), ("/feedback", {"label": 1})):
        assert (await narrow.client.post(path, json={"tenant": "acme", "url": url, **more})).status_code == 200


async def test_what_was_scored_can_be_labelled_though_names_may_be_shorter_now(service: Service) -> None:
    asked = await service.client.post("/predict", json={"tenant": "acme", "features": {"a" * 50: 1}})
    narrowed(service, LONGEST)
    body = {"tenant": "acme", "prediction_id": asked.json()["prediction_id"], "label": 1}
    assert (await service.client.post("/feedback", json=body)).json()["version"] == 1
    weights = (await service.client.get("/tenants/acme/weights")).json()["weights"]
    assert [each["feature"] for each in weights] == ["a" * 50]


async def test_many_short_names_are_still_read_together() -> None:
    asked = [
        PredictItem(features=msgspec.Raw(msgspec.json.encode(each))) for each in (FITTING["many"], TOO_LONG["plain"])
    ]
    assert [may_exceed_name_limit(each, LONGEST) for each in asked] == [False, True]
