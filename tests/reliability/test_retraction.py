"""Labels that are taken back in real services, with several workers, kills and restarts."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.learning.state import TenantState, advance
from app.storage.event_codec import decode
from tests.reliability.deployments import SERVER, Deployment, deployment
from tests.reliability.oracle import check, stored_log
from tests.reliability.traffic import Feeder, feed
from tests.services import ROOT, Service, wait_until

pytestmark = [pytest.mark.timeout(120), pytest.mark.e2e]  # slow

ROGUE = 130
REPLACED = 40


def sluice(environment: dict[str, str], *arguments: str) -> str:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")}
    done = subprocess.run(
        [sys.executable, "-m", "app", *arguments],
        check=False, capture_output=True, text=True, timeout=60, cwd=ROOT, env=inherited | environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def is_known(service: Service, key: str) -> bool:
    """Whether every worker accepts a key."""
    body = {"tenant": "other", "features": {"a": 1}}
    headers = {"X-API-Key": key, "Connection": "close"}
    return {service.request("POST", "/predict", json=body, headers=headers).status_code for _ in range(12)} == {200}


def item(number: int) -> dict[str, Any]:
    kind = "bad" if number % 2 else "good"
    return {"features": {f"{kind}:{number % 7}": 1, f"{kind}:{number % 5}:b": 1, f"word:{number % 50}": 1}}


def sensitivity(service: Service, headers: dict[str, str]) -> float:
    """The share of anomalies that the model flags now."""
    odd = [{"tenant": "acme", "keep": False, **item(number)} for number in range(1, 100, 2)]
    answer = service.request("POST", "/predict/batch", json={"tenant": "acme", "items": odd}, headers=headers)
    answer.raise_for_status()
    return float(sum(result["label"] == 1 for result in answer.json()["results"]) / len(odd))


def test_retracting_by_key_undoes_what_a_stolen_key_has_done(tmp_path: Path) -> None:  # noqa: PLR0915 - one story
    with deployment(SERVER, tmp_path, number=2, workers=2) as deployed:
        environment = {"SLUICE_REDIS_URL": deployed.url}
        good, rogue, admin = (
            sluice(environment, "keys", "create", "--roles", roles, "--tenants", "*")
            for roles in ("predict,feedback", "predict,feedback", "predict,review,feedback,admin")
        )
        service, other = deployed.services

        def give(key: str, numbers: range, *, wrong: bool) -> None:
            sign = -1 if wrong else 1
            items = [
                {**item(number), "label": sign if number % 2 else -sign, "feedback_id": f"{key[-4:]}-{number}"}
                for number in numbers
            ]
            body = {"tenant": "acme", "items": items}
            service.request("POST", "/feedback/batch", json=body, headers={"X-API-Key": key}).raise_for_status()

        def label(key: str, predictions: list[str], *, wrong: bool) -> Any:  # noqa: ANN401 - results
            sign = -1 if wrong else 1
            items = [
                {"prediction_id": each, "label": sign if number % 2 else -sign, "feedback_id": f"{key[-4:]}-p{number}"}
                for number, each in enumerate(predictions)
            ]
            body = {"tenant": "acme", "items": items}
            answer = service.request("POST", "/feedback/batch", json=body, headers={"X-API-Key": key})
            return answer.raise_for_status().json()["results"]

        headers = {"X-API-Key": admin}
        for key in (good, rogue, admin):
            for each in deployed.services:
                wait_until(partial(is_known, each, key), "a new key is not accepted")
        give(good, range(300), wrong=False)
        asked = {"tenant": "acme", "items": [item(number) for number in range(REPLACED)]}
        answers = service.request("POST", "/predict/batch", json=asked, headers={"X-API-Key": good}).json()["results"]
        predictions = [answer["prediction_id"] for answer in answers]
        label(good, predictions, wrong=False)
        before = service.request("GET", "/tenants/acme", headers=headers).json()
        assert sensitivity(service, headers) == 1.0
        give(rogue, range(300, 300 + 2 * ROGUE), wrong=True)
        assert all("replaced" in each for each in label(rogue, predictions, wrong=True))
        assert sensitivity(service, headers) < 0.5
        own = {"feedback_ids": [f"{good[-4:]}-{n}" for n in range(3)], "dry_run": True}
        refused = service.request("POST", "/tenants/acme/retract", json=own, headers={"X-API-Key": rogue})
        assert refused.status_code == 403

        command = ["retract", "acme", "--key", rogue.split("_")[1], "--reason", "stolen", "--url", service.url]
        said = sluice({**environment, "SLUICE_KEY": admin}, *command, "--dry-run")
        given = 2 * ROGUE + REPLACED
        assert f"{given} labels would be taken back" in said
        assert f"{REPLACED} labels that they had replaced would stand again" in said
        said = sluice({**environment, "SLUICE_KEY": admin}, *command)
        assert f"{given} labels taken back" in said
        assert f"{REPLACED} labels that they had replaced stand again" in said
        assert sensitivity(service, headers) == 1.0
        after = service.request("GET", "/tenants/acme", headers=headers).json()
        same = ("counts", "balanced_accuracy", "sensitivity", "specificity", "recent", "features", "sparsity", "drift")
        assert {name: after[name] for name in same} == {name: before[name] for name in same}
        assert after["version"] == before["version"] + given + 2
        first = TenantState()
        for version, payload, _ in stored_log(deployed.url, "acme").entries:
            if version <= before["version"]:
                advance(first, decode(payload))
        assert first.digest == before["digest"]
        first.version = after["version"]
        assert first.digest == after["digest"]
        assert after["rebuilding"] is None
        table = sluice({**environment, "SLUICE_KEY": admin}, "labels", "acme", "--limit", "400", "--url", service.url)
        assert table.count("stolen") == given
        file = sluice({**environment, "SLUICE_KEY": admin}, "labels", "acme", "--format", "csv", "--url", service.url)
        assert len(file.splitlines()) == 1 + 300 + REPLACED + given
        check_replicas(deployed, headers)
        other.kill()
        other.start()
        check_replicas(deployed, headers)


def check_replicas(deployed: Deployment, headers: dict[str, str]) -> None:
    log = stored_log(deployed.url, "acme")
    expected = log.replayed().digest
    for service in deployed.services:
        wait_until(partial(has_digest, service, expected, headers), "a worker has another state than the log")


def has_digest(service: Service, expected: str, headers: dict[str, str]) -> bool:
    """Whether every worker has this digest."""
    fresh = headers | {"Connection": "close"}
    return {service.request("GET", "/tenants/acme", headers=fresh).json()["digest"] for _ in range(8)} == {expected}


def test_retractions_under_feedback_lose_nothing(tmp_path: Path) -> None:
    with deployment(SERVER, tmp_path, number=2, workers=2) as deployed:
        feed(deployed.services, "acme", 300)
        with Feeder(deployed.services, "acme", retry=True, prefix="more") as feeder:
            for round_number in range(6):
                feeder.wait_for(30)
                chosen = [f"f-{round_number * 20 + k}" for k in range(10)] + list(feeder.acknowledged)[-3:]
                service = deployed.services[round_number % 2]
                answer = httpx.post(f"{service.url}/tenants/acme/retract", json={"feedback_ids": chosen}, timeout=30)
                assert answer.status_code == 200, answer.text
                assert answer.json()["retracted"] == 13
                if round_number == 3:
                    deployed.services[1].kill()
                    deployed.services[1].start()
        log = check(deployed.services, "acme", feeder)
        assert log.replayed().prequential.lifetime.examples == sum(log.feedback_ids.values()) - 6 * 13


def test_a_second_label_replaces_the_first_whichever_worker_gets_it(tmp_path: Path) -> None:
    with deployment(SERVER, tmp_path, number=2, workers=2) as deployed:
        feed(deployed.services, "acme", 50)
        one, other = deployed.services
        predictions = [
            one.request("POST", "/predict", json={"tenant": "acme", **item(number)}).json()["prediction_id"]
            for number in range(20)
        ]
        versions = []
        for number, prediction_id in enumerate(predictions):
            body = {"tenant": "acme", "prediction_id": prediction_id, "moderator": "ann", "label": 1}
            first = one.request("POST", "/feedback", json=body | {"feedback_id": f"a-{number}"})
            assert "replaced" not in first.json()
            versions.append(first.json()["version"])
        items = [
            {"prediction_id": each, "moderator": "bob", "label": -1, "feedback_id": f"b-{number}"}
            for number, each in enumerate(predictions)
        ]
        answer = other.request("POST", "/feedback/batch", json={"tenant": "acme", "items": items}).json()
        for number, result in enumerate(answer["results"]):
            assert result["replaced"] == {
                "version": versions[number], "label": 1, "feedback_id": f"a-{number}", "moderator": "ann",
            }  # fmt: skip
        again = one.request("POST", "/feedback", json={"tenant": "acme", **items[3]}).json()
        assert again == answer["results"][3] | {"duplicate": True}
        labels = one.request("GET", "/tenants/acme/labels?moderator=ann").json()["labels"]
        assert {label["retracted"]["moderator"] for label in labels} == {"bob"}
        assert len(labels) == 20
        check_replicas(deployed, {})
        assert (
            stored_log(deployed.url, "acme").replayed().prequential.lifetime.examples == versions[0] + 18
        )  # without the first settings
        other.kill()
        other.start()
        check_replicas(deployed, {})
