"""A store whose settings are unsafe, or that refuses writes: at the start and while the service runs."""

import re
from pathlib import Path

import pytest

from app.storage.client import monitor
from app.storage.client.monitor import StoreMonitor
from tests.reliability.traffic import feed, feedback
from tests.servers import Server, valkey_binary, valkey_server
from tests.services import Service, wait_until
from tests.storage.connections import connected

pytestmark = pytest.mark.timeout(120)

UNSAFE = ("--appendonly", "no")
SENTENCE = "has appendonly no, not yes: a restart of the server loses acknowledged feedback"
OVERRIDE = "SLUICE_ALLOW_UNSAFE_REDIS=true"


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.e2e)])
def test_a_service_does_not_start_on_an_unsafe_store(workers: int, tmp_path: Path) -> None:
    with (
        valkey_server(tmp_path / "store", *UNSAFE) as server,
        Service(tmp_path / "service", redis_url=server.url, workers=workers) as service,
    ):
        assert service.launch().wait() != 0
        assert SENTENCE in service.log()
        assert OVERRIDE in service.log()
        assert "Traceback" not in service.log()


@pytest.mark.e2e
def test_a_store_that_becomes_unsafe_gets_no_labels_until_it_is_repaired(tmp_path: Path) -> None:
    with (
        valkey_server(tmp_path / "store") as server,
        Service(tmp_path / "service", redis_url=server.url).start() as service,
    ):
        feed([service], "acme", 5)
        become(server, "no")
        # Before that, it may be not ready because its connections are broken.
        wait_until(lambda: SENTENCE in service.readiness()["redis"]["detail"], "the change is not noticed")
        refused = service.feedback("acme", **feedback(1))
        assert refused.status_code == 503
        assert SENTENCE in refused.json()["detail"]
        assert service.predict("acme", features=feedback(1)["features"]).status_code == 200
        assert SENTENCE in service.readiness()["redis"]["detail"]
        assert gauge(service, "sluice_store_unsafe") == 1
        server.ask("CONFIG", "SET", "appendonly", "yes")
        wait_until(service.is_ready, "the repair is not noticed")
        assert gauge(service, "sluice_store_unsafe") == 0
        feed([service], "acme", 5, prefix="after")


def become(server: Server, appendonly: str) -> None:
    """Change the setting, and break all connections, as a failover to another server does."""
    server.ask("CONFIG", "SET", "appendonly", appendonly)
    server.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")


def gauge(service: Service, name: str) -> float:
    found = re.search(rf"^{name}{{[^}}]*}} (\S+)$", service.request("GET", "/metrics").text, re.MULTILINE)
    assert found, name
    return float(found[1])


@pytest.mark.e2e
def test_a_store_that_was_down_at_the_start_is_checked_at_the_first_contact(tmp_path: Path) -> None:
    with (
        Server(valkey_binary(), tmp_path / "store", *UNSAFE, "--save", "") as server,
        Service(tmp_path / "service", redis_url=server.url).launch().wait_until_listening() as service,
    ):
        wait_until(lambda: service.status("/readyz") == 503, "it does not answer")
        server.start()
        wait_until(lambda: SENTENCE in service.readiness()["redis"]["detail"], "the server is not checked")
        assert service.feedback("acme", **feedback(1)).status_code == 503
        server.ask("CONFIG", "SET", "appendonly", "yes")
        wait_until(service.is_ready, "the repair is not noticed")
        assert service.feedback("acme", **feedback(1)).status_code == 200


@pytest.mark.anyio
async def test_settings_are_read_again_every_minute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with valkey_server(tmp_path) as server:
        async with connected(server.url) as connection:
            await connection.ping()
            watch = StoreMonitor(connection)
            server.ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
            assert not watch.is_due()
            monkeypatch.setattr(monitor, "LOOK_SECONDS", 0.0)
            assert watch.is_due()
            await watch.look()
            assert "maxmemory-policy" in str(connection.status.trouble)


@pytest.mark.e2e
def test_readyz_says_that_redis_cannot_write_and_strangers_do_not_see_its_address(tmp_path: Path) -> None:
    with (
        valkey_server(tmp_path / "store") as server,
        Service(tmp_path / "service", redis_url=server.url).start() as service,
    ):
        feed([service], "acme", 5)
        server.ask("CONFIG", "SET", "maxmemory", "1")
        assert service.feedback("acme", **feedback(1)).status_code == 503
        assert not service.is_ready()
        detail = service.readiness()["redis"]["detail"]
        assert detail.startswith(f"cannot write: Redis at 127.0.0.1:{server.port} has no memory left")
        assert gauge(service, "sluice_store_write_refused") == 1
        server.ask("CONFIG", "SET", "maxmemory", "0")
        wait_until(service.is_ready, "the room is not noticed")
        feed([service], "acme", 5, prefix="after")
        body = {"name": "operator", "roles": ["admin"], "tenants": ["*"]}
        secret = service.post("/keys", body).json()["secret"]
        server.kill()
        wait_until(lambda: not service.is_ready(), "the outage is not noticed")
        stranger = service.request("GET", "/readyz").text
        assert "Redis cannot be reached" in stranger
        assert str(server.port) not in stranger
        assert "127.0.0.1" not in stranger
        operator = service.request("GET", "/readyz", headers={"x-api-key": secret}).text
        assert f"127.0.0.1:{server.port}" in operator
