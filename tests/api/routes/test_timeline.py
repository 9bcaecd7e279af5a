"""GET /tenants/{tenant}/timeline."""

import pytest

from app.tenants.labels.stored_labels import Retraction, StoredLabel
from tests.api.conftest import Service

pytestmark = pytest.mark.anyio
PATH = "/tenants/acme/timeline"
NOON = 1_794_992_400_000  # 2026-11-18T09:00:00Z
MINUTE = 60_000


def label(version: int, *, label: int = 1, served: int | None = 1, chosen_with: float | None = None) -> StoredLabel:
    at = NOON + version * MINUTE
    return StoredLabel(
        version, bytes([version]), at, label, None, None, None, None, None, served,
        None if served is None else 0.5, at - 30_000, None, chosen_with,
    )  # fmt: skip


@pytest.fixture(autouse=True)
async def _labels(service: Service) -> None:
    await service.tenants.hold("acme")
    service.tenants.given_labels = [
        (label(6, served=None), None),
        (label(5, label=-1, served=-1), Retraction(7, NOON, None, None, None)),
        (label(4, label=-1, served=1, chosen_with=0.5), None),
        (label(3, label=-1, served=-1, chosen_with=0.5), None),
        (label(2, served=-1), None),
        (label(1, chosen_with=0.5), None),
    ]


async def test_a_timeline_has_labels_naive_and_honest_rates_and_delays(service: Service) -> None:
    answer = await service.client.get(f"{PATH}?periods=2&until=2026-11-18T09:10:00Z")
    assert answer.status_code == 200, answer.text
    assert answer.headers["cache-control"] == "no-store"
    found = answer.json()
    assert (found["labels"], found["first_at"], found["complete"]) == (5, NOON + MINUTE, True)
    assert found["period_seconds"] == 300
    whole = found["whole"]
    assert (whole["anomalies"], whole["normal"]) == (3, 2)
    assert whole["served"] == {"examples": 4, "balanced_accuracy": 0.5, "sensitivity": 0.5, "specificity": 0.5}
    assert whole["honest"]["labels"] == 3
    assert whole["honest"]["sensitivity"]["value"] == 1.0
    assert whole["honest"]["specificity"]["value"] == 0.5
    assert whole["delay"] == {"labels": 5, "median_seconds": 30.0, "p90_seconds": 30.0}
    assert [each["anomalies"] for each in found["periods"]] == [2, 1]
    assert found["periods"][1]["honest"]["balanced_accuracy"]["reason"] == "no label of a chosen item yet"


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("since=2026-11-18T09:10:00Z&until=2026-11-18T09:10:00Z", "since must be before until"),
        ("since=yesterday", "since is 'yesterday'"),
        ("periods=0", "periods is '0'"),
        ("periods=401", "from 1 to 400"),
        ("buckets=5", "no query parameter 'buckets'"),
    ],
)
async def test_a_wrong_question_is_refused_in_words(service: Service, query: str, words: str) -> None:
    answer = await service.client.get(f"{PATH}?{query}")
    assert answer.status_code == 422
    assert words in answer.json()["detail"]


async def test_an_unknown_tenant_is_not_found(service: Service) -> None:
    assert (await service.client.get("/tenants/nobody/timeline")).status_code == 404
