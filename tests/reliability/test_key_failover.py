"""A failover to a replica that is behind: revoked keys stay revoked, and created keys stay valid."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.storage.redis_keys import KEYRING
from tests.reliability.deployments import deployment
from tests.reliability.test_keys import PATIENT, environment_of, new_key, statuses
from tests.reliability.test_lost_keys import (
    WATCHED_SECONDS,
    everywhere,
    identity,
    is_stored,
    is_stored_as_revoked,
    make,
    revoke,
)
from tests.servers import SentinelSetup
from tests.services import wait_until

pytestmark = [pytest.mark.timeout(90), pytest.mark.e2e]  # slow


@contextmanager
def failover(store: SentinelSetup) -> Iterator[None]:
    """Do something that the replica does not receive, and promote it."""
    store.replica.freeze()
    store.primary.ask("CLIENT", "KILL", "TYPE", "replica")
    yield
    store.kill_primary()
    store.replica.thaw()
    store.wait_for_failover()
    wait_until(lambda: flags(store) == b"master", "Sentinel does not accept the new primary")


def flags(store: SentinelSetup) -> bytes:
    """Return what Sentinel thinks of the primary: clients ignore one that it thinks is down."""
    answer = store.sentinel.ask("SENTINEL", "MASTER", store.NAME)
    return bytes(dict(zip(answer[::2], answer[1::2], strict=True))[b"flags"])


def test_a_failover_does_not_revive_a_revoked_key(tmp_path: Path) -> None:
    with deployment("sentinel", tmp_path, number=2, **PATIENT) as deployed:
        assert isinstance(deployed.store, SentinelSetup)
        chief = make(deployed.services[0])
        key = make(deployed.services[0], chief)
        wait_until(lambda: everywhere(deployed.services, key, 200), "the key is not known everywhere")
        with failover(deployed.store):
            revoke(deployed.services[0], key, chief)
            lasting = make(deployed.services[0], chief)
            wait_until(lambda: everywhere(deployed.services, key, 401), "the key is still valid")
        deadline = time.monotonic() + WATCHED_SECONDS
        while time.monotonic() < deadline:
            assert everywhere(deployed.services, key, 401)
        wait_until(lambda: is_stored_as_revoked(deployed, key), "the revocation is not put back")
        wait_until(lambda: is_stored(deployed, lasting), "the key is not put back")
        assert everywhere(deployed.services, lasting, 200)
        assert any(f"1 revocation ({identity(key)})" in service.log() for service in deployed.services)
        fresh = deployed.new_service().start()
        assert [statuses(fresh, each) for each in (key, lasting)] == [{401}, {200}]


def test_a_revocation_survives_the_loss_of_primary_and_service_together(tmp_path: Path) -> None:
    with deployment("sentinel", tmp_path, **PATIENT) as deployed:
        assert isinstance(deployed.store, SentinelSetup)
        (service,) = deployed.services
        chief = make(service)
        key = make(service, chief)
        with failover(deployed.store):
            revoke(service, key, chief)
            service.kill()
        stored = deployed.store.replica.ask("HEXISTS", KEYRING, identity(key))
        assert stored, "the replica did not get the revocation"
        service.start()
        assert everywhere([service], key, 401)
        assert is_stored_as_revoked(deployed, key)


def test_a_key_made_after_a_failover_is_accepted_although_the_number_of_changes_is_the_same(tmp_path: Path) -> None:
    """With a counter, the services would not notice: they sleep while it goes back and forth."""
    with deployment("sentinel", tmp_path, number=2, **PATIENT) as deployed:
        assert isinstance(deployed.store, SentinelSetup)
        chief = make(deployed.services[0])
        wait_until(lambda: everywhere(deployed.services, chief, 200), "the key is not known everywhere")
        with failover(deployed.store):
            lost = make(deployed.services[0], chief)
            wait_until(lambda: everywhere(deployed.services, lost, 200), "the key is not known everywhere")
            for service in deployed.services:
                os.kill(service.pid, signal.SIGSTOP)
        new = new_key(environment_of(deployed), "predict")
        for service in deployed.services:
            os.kill(service.pid, signal.SIGCONT)
        for key in (new, lost, chief):
            wait_until(lambda key=key: everywhere(deployed.services, key, 200), "a key is refused")  # type: ignore[misc]
            wait_until(lambda key=key: is_stored(deployed, key), "a key is not put back")  # type: ignore[misc]
