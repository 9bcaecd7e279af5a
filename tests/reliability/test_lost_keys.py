"""The store loses keys or revocations: access stays as it was acknowledged, and the store gets them back."""

import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from app.storage.redis_keys import KEYRING, REVOKED
from tests.reliability.deployments import Deployment, deployment, on_a_server
from tests.reliability.oracle import client_of
from tests.reliability.test_keys import EXAMPLE, PATIENT, environment_of, new_key, sluice, statuses
from tests.services import Service, wait_until

pytestmark = pytest.mark.timeout(90)
WANTED: dict[str, Any] = {"roles": ["admin", "predict", "metrics"], "tenants": ["*"]}
WATCHED_SECONDS = 2.0  # four times as long as a worker waits before it reads the keys again


def make(service: Service, key: str = "") -> str:
    """Create a key over HTTP; return its secret."""
    answer = service.request("POST", "/keys", json=WANTED, headers={"X-API-Key": key})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["secret"])


def revoke(service: Service, key: str, by: str) -> None:
    answer = service.request("DELETE", f"/keys/{identity(key)}", headers={"X-API-Key": by})
    assert answer.status_code == 204, answer.text


def identity(key: str) -> str:
    return key.split("_")[1]


def everywhere(services: Sequence[Service], key: str, status: int) -> bool:
    """Whether every worker of every service answers a request with this key so."""
    return all(statuses(service, key) == {status} for service in services)


def check_closed(services: Sequence[Service], key: str) -> None:
    """Check for a while that strangers are refused, and the key is not."""
    deadline = time.monotonic() + WATCHED_SECONDS
    while time.monotonic() < deadline:
        for service in services:
            assert service.post("/predict", EXAMPLE).status_code == 401
            assert service.post("/keys", WANTED).status_code == 401, "a stranger makes an admin key"
            assert statuses(service, key, 1) == {200}


def is_stored(deployed: Deployment, key: str) -> bool:
    with client_of(deployed.url) as client:
        return bool(client.hexists(KEYRING, identity(key)))


def is_stored_as_revoked(deployed: Deployment, key: str) -> bool:
    with client_of(deployed.url) as client:
        return bool(client.hexists(REVOKED, identity(key))) and not client.hexists(KEYRING, identity(key))


def check_reports(services: Sequence[Service], text: str, key: str, environment: dict[str, str]) -> None:
    """Check that log, audit and /readyz report it, and that strangers see no ids."""
    assert any(text in service.log() for service in services)
    assert text in sluice(environment, "audit").stdout

    def readyz_says_so() -> bool:
        parts = [
            service.request("GET", "/readyz", headers={"X-API-Key": key, "Connection": "close"}).json()["parts"]
            for service in services
        ]
        return any(text in part["keys"]["detail"] for part in parts)

    wait_until(readyz_says_so, "/readyz does not say that keys were lost")  # one worker put them back, and says so
    details = {service.readiness()["keys"]["detail"] for service in services}
    assert details <= {"in order", "see the service's log"}


@pytest.mark.parametrize(
    "loss", [("FLUSHALL",), pytest.param(("DEL", KEYRING), marks=pytest.mark.e2e)], ids=["FLUSHALL", "DEL"]
)
@on_a_server
def test_a_store_that_loses_its_keys_does_not_open_the_service(
    kind: str, tmp_path: Path, loss: tuple[str, ...]
) -> None:
    with deployment(kind, tmp_path, **PATIENT) as deployed:
        (service,) = deployed.services
        assert service.post("/predict", EXAMPLE).status_code == 200, "it is open until the first key"
        key = make(service)
        deployed.server.ask(*loss)
        check_closed([service], key)
        wait_until(lambda: is_stored(deployed, key), "the keys are not put back")
        check_reports([service], f"the store had lost 1 API key ({identity(key)})", key, environment_of(deployed))
        metrics = service.request("GET", "/metrics", headers={"X-API-Key": key}).text
        assert 'sluice_keys_restored_total{worker="0"} 1.0' in metrics


@pytest.mark.e2e
@on_a_server
def test_all_workers_of_all_services_stay_closed(kind: str, tmp_path: Path) -> None:
    with deployment(kind, tmp_path, number=2, workers=2, **PATIENT) as deployed:
        key = make(deployed.services[0])
        wait_until(lambda: everywhere(deployed.services, key, 200), "the key is not known everywhere")
        other = make(deployed.services[1], key)
        revoke(deployed.services[0], other, key)
        wait_until(lambda: everywhere(deployed.services, other, 401), "the key is still valid")
        for _ in range(3):
            deployed.server.flush_all()
            check_closed(deployed.services, key)
            wait_until(lambda: is_stored(deployed, key), "the keys are not put back")
            wait_until(lambda: is_stored_as_revoked(deployed, other), "the revocation is not put back")
        assert everywhere(deployed.services, other, 401)


@pytest.mark.e2e
@on_a_server
def test_a_restart_on_an_emptied_store_finds_the_keys_in_the_local_copy(kind: str, tmp_path: Path) -> None:
    with deployment(kind, tmp_path, workers=2, **PATIENT) as deployed:
        (service,) = deployed.services
        key = make(service)
        wait_until(lambda: everywhere([service], key, 200), "the key is not known everywhere")
        gone = make(service, key)
        revoke(service, gone, key)
        service.terminate()
        deployed.server.flush_all()
        service.start()
        assert "every caller on this machine has access" not in service.log()
        check_closed([service], key)
        assert everywhere([service], gone, 401)
        assert is_stored(deployed, key)
        assert is_stored_as_revoked(deployed, gone)
        text = f"the store had lost 1 API key ({identity(key)}) and 1 revocation ({identity(gone)})"
        check_reports([service], text, key, environment_of(deployed))


@pytest.mark.e2e
@on_a_server
def test_the_last_revocation_closes_the_service_for_good(kind: str, tmp_path: Path) -> None:
    with deployment(kind, tmp_path, **PATIENT) as deployed:
        (service,) = deployed.services
        key = make(service)
        revoke(service, key, key)
        for _ in range(2):
            assert everywhere([service], "", 401)
            assert everywhere([service], key, 401)
            service.terminate()
            deployed.server.flush_all()
            service.start()
            assert "no caller has access any more: create a key with sluice keys create" in service.log()
        new = new_key(environment_of(deployed), "predict")
        wait_until(lambda: everywhere([service], new, 200), "the operator cannot help")


@pytest.mark.e2e
def test_a_local_service_whose_store_lost_its_manifest_does_not_start(tmp_path: Path) -> None:
    with deployment("embedded", tmp_path, **PATIENT) as deployed:
        (service,) = deployed.services
        key = make(service)
        service.terminate()
        folder = service.data_dir / "valkey" / "appendonlydir"
        shutil.move(folder / "appendonly.aof.manifest", tmp_path / "manifest")
        assert service.launch().wait() == 1
        assert f"{folder} has lost appendonly.aof.manifest" in service.log()
        service.process = None
        shutil.rmtree(service.data_dir / "valkey")  # the operator starts afresh, as the message says
        (service.data_dir / "valkey.used").unlink()
        service.start()
        check_closed([service], key)


@pytest.mark.e2e
def test_keys_made_by_the_command_line_are_in_the_local_copy_too(tmp_path: Path) -> None:
    environment = {"SLUICE_DATA_DIR": str(tmp_path / "data")}
    key = new_key(environment, "predict")
    assert identity(key) in (tmp_path / "data" / "keys.json").read_text()
    assert sluice(environment, "keys", "revoke", identity(key)).returncode == 0
    shutil.rmtree(tmp_path / "data" / "valkey")
    (tmp_path / "data" / "valkey.used").unlink()
    listed = sluice(environment, "keys", "list")
    assert listed.stdout.startswith("There are no keys."), listed.stderr
    with Service(tmp_path, wrong_keys_per_second=0).start() as service:
        assert everywhere([service], "", 401)


@pytest.mark.e2e
def test_an_emptied_cluster_gets_its_keys_back(tmp_path: Path) -> None:
    with deployment("cluster", tmp_path, **PATIENT) as deployed:
        (service,) = deployed.services
        key = make(service)
        gone = make(service, key)
        revoke(service, gone, key)
        assert deployed.store is not None
        deployed.store.flush_all()
        check_closed([service], key)
        wait_until(lambda: is_stored(deployed, key), "the keys are not put back")
        wait_until(lambda: is_stored_as_revoked(deployed, gone), "the revocation is not put back")


@pytest.mark.e2e
@on_a_server
def test_a_key_ends_with_the_key_that_made_it(kind: str, tmp_path: Path) -> None:
    with deployment(kind, tmp_path, **PATIENT) as deployed:
        (service,) = deployed.services
        chief = make(service)
        wanted = WANTED | {"expires_in_seconds": 600}
        answer = service.request("POST", "/keys", json=wanted, headers={"X-API-Key": chief}).json()
        maker, ends = answer["secret"], answer["key"]["expires_at"]
        assert answer["key"]["made_by"] == identity(chief)
        child = service.request("POST", "/keys", json=WANTED, headers={"X-API-Key": maker}).json()
        assert child["key"]["expires_at"] == ends
        later = service.request(
            "POST", "/keys", json=WANTED | {"expires_in_seconds": 900}, headers={"X-API-Key": maker}
        )
        assert (later.status_code, later.json()["type"]) == (422, "/problems/bad-key")
        assert "longer than the key that makes it" in later.json()["detail"]
        revoked = sluice(environment_of(deployed), "keys", "revoke", identity(maker))
        assert f"so are the keys made with it: {child['key']['id']}" in revoked.stdout
        wait_until(lambda: everywhere([service], child["secret"], 401), "the key outlives its maker")
        assert everywhere([service], chief, 200)
