"""Feedback by prediction_id: which predictions are kept, and for how long."""

from collections.abc import Iterator
from itertools import count

import pytest

from tests.reliability.deployments import SERVER, Deployment, deployment
from tests.reliability.oracle import check
from tests.reliability.traffic import feed, feedback
from tests.services import Service, wait_until

pytestmark = pytest.mark.timeout(60)
numbers = count()
FEATURES = {"features": feedback(4)["features"]}


@pytest.fixture(scope="module", params=[SERVER])
def deployed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Start three services: the second keeps predictions for a second only, the third keeps none."""
    with deployment(request.param, tmp_path_factory.mktemp("pending"), pending_max_per_tenant=300) as made:
        made.new_service(pending_ttl_seconds=1).launch()
        made.new_service(pending_ttl_seconds=0).launch()
        for service in made.services:
            service.wait_until_ready()
        yield made


@pytest.fixture
def tenant(deployed: Deployment) -> str:
    name = f"tenant-{next(numbers)}"
    feed(deployed.services[:1], name, 10)
    return name


def labelled(service: Service, tenant: str, prediction_id: str) -> int:
    return service.feedback(tenant, prediction_id=prediction_id, label=1).status_code


def test_a_kept_prediction_survives_a_restart(deployed: Deployment, tenant: str) -> None:
    service = deployed.services[0]
    predicted = service.predict(tenant, **FEATURES).json()
    service.terminate()
    service.start()
    given = service.feedback(tenant, prediction_id=predicted["prediction_id"], label=1)
    assert given.status_code == 200, given.text
    assert given.json()["served"] == {"label": predicted["label"], "score": predicted["score"]}
    assert service.tenant(tenant)["served"]["examples"] == 1
    check(deployed.services, tenant)


def test_a_retry_with_the_prediction_id_is_a_retry(deployed: Deployment, tenant: str) -> None:
    service = deployed.services[0]
    prediction_id = service.predict(tenant, **FEATURES).json()["prediction_id"]
    body = {"prediction_id": prediction_id, "label": 1, "feedback_id": "mine"}
    first, again = (service.feedback(tenant, **body).json() for _ in range(2))
    assert again == first | {"duplicate": True}


def test_a_prediction_of_another_tenant_is_not_found(deployed: Deployment, tenant: str) -> None:
    service = deployed.services[0]
    prediction_id = service.predict(tenant, **FEATURES).json()["prediction_id"]
    assert labelled(service, f"{tenant}-other", prediction_id) == 410


def test_an_expired_prediction_is_gone(deployed: Deployment, tenant: str) -> None:
    kept, briefly, _ = deployed.services
    prediction_id = briefly.predict(tenant, **FEATURES).json()["prediction_id"]
    wait_until(lambda: labelled(kept, tenant, prediction_id) == 410, "it never expires")


def test_beyond_the_limit_the_oldest_predictions_are_dropped(deployed: Deployment, tenant: str) -> None:
    service = deployed.services[0]
    items = [FEATURES] * 1000
    answer = service.post("/predict/batch", {"tenant": tenant, "items": items}).json()["results"]
    assert labelled(service, tenant, answer[-1]["prediction_id"]) == 200
    wait_until(lambda: labelled(service, tenant, answer[0]["prediction_id"]) == 410, "the oldest is still kept")


def test_a_request_can_opt_out_of_being_kept(deployed: Deployment, tenant: str) -> None:
    assert deployed.services[0].predict(tenant, keep=False, **FEATURES).json()["prediction_id"] is None


def test_a_tenant_can_opt_out_of_kept_predictions(deployed: Deployment, tenant: str) -> None:
    service = deployed.services[0]
    service.request("PUT", f"/tenants/{tenant}", json={"keep_predictions": False}).raise_for_status()
    assert service.predict(tenant, **FEATURES).json()["prediction_id"] is None


def test_a_service_can_opt_out_of_kept_predictions(deployed: Deployment, tenant: str) -> None:
    assert deployed.services[2].predict(tenant, **FEATURES).json()["prediction_id"] is None
