"""Verdicts of a real service without tuning: numbers of any scale, a learnt threshold, and health."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.services import Service

pytestmark = pytest.mark.timeout(60)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("verdicts")).start() as service:
        yield service


def payments(count: int) -> list[dict[str, Any]]:
    """Payments, of which one in ten is a fraud: larger, and at night."""
    rng = np.random.default_rng(3)
    frauds = rng.random(count) < 0.1
    amounts, hours = (
        np.exp(rng.normal(np.where(frauds, 8.0, 4.0), 0.8)),
        np.where(frauds, 3, rng.integers(8, 20, count)),
    )
    return [
        {"features": {"amount": amount, "hour": hour, "retries": 0}, "label": 1 if fraud else -1}
        for amount, hour, fraud in zip(amounts.tolist(), hours.tolist(), frauds.tolist(), strict=True)
    ]


def learn(service: Service, tenant: str, **settings: object) -> dict[str, Any]:
    """Label 1,500 payments; return the tenant."""
    if settings:
        service.request("PUT", f"/tenants/{tenant}", json=settings).raise_for_status()
    service.post("/feedback/batch", {"tenant": tenant, "items": payments(1500)}).raise_for_status()
    return service.tenant(tenant)


def poor(service: Service, tenant: str) -> str:
    """The sample of sluice_tenant_poor."""
    lines = service.request("GET", "/metrics").text.splitlines()
    (line,) = [line for line in lines if line.startswith("sluice_tenant_poor{") and f'tenant="{tenant}"' in line]
    return line.rpartition(" ")[2]


def test_payments_are_judged_well_without_any_setting(service: Service) -> None:
    shown = learn(service, "defaults")
    assert shown["config"].items() >= {"algorithm": "cs-sol", "numbers": "encoded", "threshold": "auto"}.items()
    assert shown["recent"]["balanced_accuracy"] > 0.97
    assert shown["health"]["status"] == "good"
    answer = service.predict("defaults", features={"amount": 3000, "hour": 3, "retries": 0}, explain=3).json()
    assert answer["label"] == 1
    assert answer.get("review_reason") != "unknown"
    assert answer["probability"] > 0.8
    assert "amount 3,000 (2,048-4,096)" in [each["feature"] for each in answer["explanation"]]
    assert service.predict("defaults", features={"amount": 50, "hour": 12, "retries": 0}).json()["probability"] < 0.1
    assert float(poor(service, "defaults")) == 0.0


def test_a_tenant_that_is_no_better_than_chance_says_so_everywhere(service: Service) -> None:
    shown = learn(service, "blind", algorithm="cs-ssol", numbers="raw", threshold=5.0)
    assert shown["sensitivity"] == 0.0
    assert shown["health"]["status"] == "poor"
    assert any("threshold to 'auto'" in each for each in shown["health"]["suggestions"])
    answer = service.predict("blind", features={"amount": 3000, "hour": 3, "retries": 0}).json()
    assert (answer["label"], answer["needs_review"]) == (-1, True)
    assert float(poor(service, "blind")) == 1.0


def test_the_operator_chooses_the_algorithm_of_new_tenants(tmp_path: Path) -> None:
    with Service(tmp_path, default_algorithm="ftrl").start() as service:
        service.predict("acme", features={"a": 1}).raise_for_status()
        assert service.tenant("acme")["config"]["algorithm"] == "ftrl"
