"""Everyday requests through two services, on every kind of store."""

import threading
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from tests.reliability.deployments import EMBEDDED, REDIS, Deployment, deployment
from tests.reliability.oracle import check, stored_log
from tests.reliability.traffic import feed, feedback
from tests.services import Service, new_client, wait_until

pytestmark = pytest.mark.timeout(60)
numbers = count()


@pytest.fixture(scope="module", params=[EMBEDDED, REDIS, "cluster", "sentinel"])
def deployed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployment(request.param, tmp_path_factory.mktemp(request.param), number=2) as made:
        yield made


@pytest.fixture
def tenant() -> str:
    """Return the name of a tenant for this test only."""
    return f"tenant-{next(numbers)}"


def test_two_replicas_that_are_both_fed_agree(deployed: Deployment, tenant: str) -> None:
    check(deployed.services, tenant, feed(deployed.services, tenant, 200))


def test_feedback_to_one_service_reaches_the_other(deployed: Deployment, tenant: str) -> None:
    one, other = deployed.services
    other.feedback(tenant, **feedback(0)).raise_for_status()
    version = one.feedback(tenant, **feedback(1)).json()["version"]
    assert one.predict(tenant, features={"word:1": 1}).json()["version"] == version  # on the same service at once
    wait_until(lambda: other.tenant(tenant)["version"] == version, "the other does not learn it")


def test_a_retry_from_many_clients_at_once_has_one_effect_and_one_answer(deployed: Deployment, tenant: str) -> None:
    feed(deployed.services, tenant, 20)
    version = check(deployed.services, tenant).version
    answers = retried_at_once(deployed.services, tenant, 16)
    assert sum(not answer.pop("duplicate") for answer in answers) == 1
    assert answers == [answers[0]] * 16
    assert check(deployed.services, tenant).version == version + 1


def test_a_feedback_id_with_another_label_or_input_is_a_conflict(deployed: Deployment, tenant: str) -> None:
    one, other = deployed.services
    given = feedback(1) | {"feedback_id": "mine"}
    one.feedback(tenant, **given).raise_for_status()
    for changed in ({"label": 1}, {"features": {"word:1": 1}}):
        refused = other.feedback(tenant, **(given | changed))
        assert refused.status_code == 409
        assert refused.json()["type"] == "/problems/feedback-conflict"
    assert other.tenant(tenant)["counts"]["examples"] == 1


def test_feedback_may_go_through_another_service_than_the_prediction(deployed: Deployment, tenant: str) -> None:
    one, other = deployed.services
    feed(deployed.services, tenant, 20)
    predicted = one.predict(tenant, features=feedback(4)["features"]).json()
    feed(deployed.services, tenant, 20, prefix="since")  # so that the model has changed
    given = other.feedback(tenant, prediction_id=predicted["prediction_id"], label=1)
    given.raise_for_status()
    assert given.json()["served"] == {"label": predicted["label"], "score": predicted["score"]}
    assert other.tenant(tenant)["served"]["examples"] == 1
    check(deployed.services, tenant)


def test_an_invented_prediction_id_gets_410(deployed: Deployment, tenant: str) -> None:
    refused = deployed.services[0].feedback(tenant, prediction_id="0123456789ab-1-0", label=1)
    assert refused.status_code == 410
    assert refused.json()["type"] == "/problems/prediction-expired"


def test_a_configuration_change_reaches_the_other_service(deployed: Deployment, tenant: str) -> None:
    one, other = deployed.services
    feed(deployed.services, tenant, 10)
    one.request("PUT", f"/tenants/{tenant}", json={"threshold": 0.5}).raise_for_status()
    feed(deployed.services, tenant, 10, prefix="since")
    check(deployed.services, tenant)
    assert other.tenant(tenant)["config"]["threshold"] == 0.5


def test_a_deleted_tenant_is_gone_on_both_and_can_be_created_again(deployed: Deployment, tenant: str) -> None:
    one, other = deployed.services
    feed(deployed.services, tenant, 10)
    one.request("DELETE", f"/tenants/{tenant}").raise_for_status()
    wait_until(lambda: other.status(f"/tenants/{tenant}") == 404, "the other still has it")
    check(deployed.services, tenant, feed(deployed.services, tenant, 10))
    assert list(deployed.folder.glob("*/data/rescued/*")) == []


def test_after_a_restart_nothing_is_lost_and_a_retry_gets_the_first_answer(deployed: Deployment, tenant: str) -> None:
    one, other = deployed.services
    fed = feed(deployed.services, tenant, 30)
    snapshot = one.post(f"/tenants/{tenant}/snapshot", None)
    snapshot.raise_for_status()
    fed_again = feed(deployed.services, tenant, 30, prefix="again")
    assert stored_log(deployed.url, tenant).snapshots.keys() == {snapshot.json()["version"]}
    assert other.terminate().code == 0
    log = stored_log(deployed.url, tenant)
    assert max(log.snapshots) == log.version  # taken at shutdown
    since = feed([one], tenant, 20, prefix="since")
    other.start()
    check(deployed.services, tenant, fed, fed_again, since)
    for name, answer in [answer for feeder in (fed, fed_again, since) for answer in [*feeder.acknowledged.items()][:2]]:
        again = other.feedback(tenant, feedback_id=name, **feedback(int(name.partition("-")[2]))).json()
        assert again == answer | {"duplicate": True}


def retried_at_once(services: list[Service], tenant: str, clients: int) -> list[dict[str, Any]]:
    """Send the same feedback from many clients through all services at once."""
    answers: list[dict[str, Any]] = []
    together = threading.Barrier(clients)

    def give(number: int) -> None:
        body = {"tenant": tenant, "feedback_id": "the same", **feedback(7)}
        with new_client() as client:
            together.wait(10)
            answers.append(client.post(services[number % len(services)].url + "/feedback", json=body).json())

    threads = [threading.Thread(target=give, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    return answers
