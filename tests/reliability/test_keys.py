"""API keys of real services: created by the command line, known to every worker, refused soon after revocation."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.reliability.deployments import Deployment, deployment, on_a_server
from tests.services import ROOT, Service, wait_until

pytestmark = [pytest.mark.timeout(60), pytest.mark.e2e]  # slow
PATIENT = {"wrong_keys_per_second": 0}  # the test repeats a wrong key until every worker refuses it
EXAMPLE: dict[str, Any] = {"tenant": "acme", "features": {"a": 1}}


def sluice(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "app", *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=30,
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")} | environment,
    )


def environment_of(deployed: Deployment) -> dict[str, str]:
    if deployed.store is None:
        return {"SLUICE_DATA_DIR": str(deployed.services[0].data_dir)}
    return {"SLUICE_REDIS_URL": deployed.url}


def new_key(environment: dict[str, str], roles: str, tenants: str = "*", *options: str) -> str:
    done = sluice(environment, "keys", "create", "--roles", roles, "--tenants", tenants, *options)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def wait_for_the_door(service: Service) -> None:
    """Wait until the service knows the first key."""
    wait_until(lambda: statuses(service, "", 1) == {401}, "the first key does not end open access")


def statuses(service: Service, key: str, times: int = 8) -> set[int]:
    """Return the statuses of several requests on new connections, which reach every worker."""
    return {
        service.request("POST", "/predict", json=EXAMPLE, headers={"X-API-Key": key, "Connection": "close"}).status_code
        for _ in range(times)
    }


@on_a_server
def test_a_revoked_key_is_refused_by_every_worker_of_every_service_soon(kind: str, tmp_path: Path) -> None:
    with deployment(kind, tmp_path, number=2, workers=2, **PATIENT) as deployed:
        environment = environment_of(deployed)
        key = new_key(environment, "predict")
        for service in deployed.services:
            wait_until(lambda service=service: statuses(service, "") == {401}, "the first key does not end open access")  # type: ignore[misc]
            assert statuses(service, key) == {200}
        new_key(environment, "metrics")  # so that access stays restricted
        assert sluice(environment, "keys", "revoke", key.split("_")[1]).returncode == 0
        for service in deployed.services:
            wait_until(lambda service=service: statuses(service, key) == {401}, "the key is still valid")  # type: ignore[misc]


def test_keys_work_with_the_embedded_store_beside_a_running_service(tmp_path: Path) -> None:
    with deployment("embedded", tmp_path, **PATIENT) as deployed:
        (service,) = deployed.services
        environment = environment_of(deployed)
        headers = {"X-API-Key": new_key(environment, "predict,feedback,admin", "acme")}
        wait_for_the_door(service)
        body = EXAMPLE | {"label": 1, "moderator": "kim"}
        assert service.request("POST", "/feedback", json=body, headers=headers).status_code == 200
        assert service.request("PUT", "/tenants/acme", json={"eta": 0.5}, headers=headers).status_code == 200
        assert service.request("PUT", "/tenants/shop", json={"eta": 0.5}, headers=headers).status_code == 403
        entries = sluice(environment, "audit", "--tenant", "acme").stdout.splitlines()
        identity = headers["X-API-Key"].split("_")[1]
        assert [line.split("  ")[1:3] for line in entries] == [
            [f"key={identity} by=kim", "label acme version 2, label 1"],
            [f"key={identity}", "configure_tenant acme"],
        ]


def test_a_key_with_a_name_labels_as_its_moderator(tmp_path: Path) -> None:
    with deployment("embedded", tmp_path, **PATIENT) as deployed:
        (service,) = deployed.services
        environment = environment_of(deployed)
        kim = new_key(environment, "feedback,review", "*", "--moderator", "kim")
        chief = new_key(environment, "feedback", "*", "--moderator", "ann", "--speaks-for-others")

        def give(key: str, **fields: str) -> int:
            body = EXAMPLE | {"label": 1} | fields
            return service.request("POST", "/feedback", json=body, headers={"X-API-Key": key}).status_code

        wait_for_the_door(service)
        wait_until(lambda: give(chief) == 200, "the second key is not known")
        assert give(chief, moderator="lee") == 200
        assert [give(kim), give(kim, moderator="kim"), give(kim, moderator="lee")] == [200, 200, 403]
        found = service.request("GET", "/tenants/acme/labels", headers={"X-API-Key": kim}).json()["labels"]
        assert [label["moderator"] for label in found] == ["kim", "kim", "lee", "ann"]
        listed = sluice(environment, "keys", "list").stdout
        assert "  kim  " in listed
        assert "  ann and others  " in listed
        alone = sluice(environment, "keys", "create", "--roles", "feedback", "--tenants", "*", "--speaks-for-others")
        assert alone.returncode == 1
        assert "speaks_for_others needs a moderator" in alone.stderr


@on_a_server
def test_while_the_store_is_down_known_keys_are_accepted(kind: str, tmp_path: Path) -> None:
    with deployment(kind, tmp_path, **PATIENT) as deployed:
        (service,) = deployed.services
        key = new_key(environment_of(deployed), "predict")
        wait_for_the_door(service)
        assert statuses(service, key, 1) == {200}
        deployed.server.kill()
        assert statuses(service, key, 3) == {200}
        assert statuses(service, key[:-1] + ("a" if key[-1] != "a" else "b"), 1) == {401}


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])  # noqa: S104 - it must refuse
def test_a_public_service_does_not_start_without_a_key(tmp_path: Path, host: str) -> None:
    environment = {"SLUICE_DATA_DIR": str(tmp_path / "data"), "SLUICE_HOST": host, "SLUICE_PORT": "0"}
    done = sluice(environment, "serve")
    assert done.returncode == 1
    assert f"{host} can be reached from other machines, and no key exists yet" in done.stderr


def test_a_local_service_logs_that_it_is_open(tmp_path: Path) -> None:
    with deployment("embedded", tmp_path, **PATIENT) as deployed:
        (service,) = deployed.services
        assert service.post("/predict", EXAMPLE).status_code == 200
        assert service.log().count("no key exists yet, so every caller on this machine has access") == 1


def test_commands_send_their_key_to_the_service(tmp_path: Path) -> None:
    with deployment("embedded", tmp_path, **PATIENT) as deployed:
        (service,) = deployed.services
        service.feedback("acme", features={"a": 1}, label=1).raise_for_status()
        key = new_key(environment_of(deployed), "admin,review")
        wait_for_the_door(service)
        export = ("export", "acme", "--url", service.url, "--out", str(tmp_path / "model"))
        refused = sluice({}, *export)
        assert refused.returncode == 1
        assert "send a key" in refused.stderr
        assert sluice({"SLUICE_KEY": key}, *export).returncode == 0
        (tmp_path / "key").write_text(key + "\n")
        assert sluice({"SLUICE_KEY_FILE": str(tmp_path / "key")}, *export).returncode == 0
