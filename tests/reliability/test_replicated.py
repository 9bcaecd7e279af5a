"""SLUICE_DURABILITY=replicated: acknowledged means on the disks of the primary and of a replica."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.storage.client import Durability
from app.storage.errors import StoreUnavailable
from app.storage.event_log import Appended, Draft, EventLog, Group
from app.storage.redis_keys import keys_of
from load_tests.cluster.nodes import replicated_cluster
from tests.reliability.oracle import check
from tests.reliability.traffic import Feeder, feedback
from tests.servers import Server, redis_binary, redis_server, valkey_server
from tests.services import Service, wait_until
from tests.storage.connections import connected

pytestmark = [pytest.mark.timeout(120), pytest.mark.e2e]

AT_ONCE = ("--repl-diskless-sync-delay", "0")
NOT_REPLICATED = "the write did not reach the disk of a replica in time"
TIMEOUT_MILLISECONDS = 300


@dataclass
class Pair:
    """A primary, its replica, and a service."""

    primary: Server
    replica: Server
    service: Service

    def lose_all_but_the_replica(self, folder: Path) -> Service:
        """Kill service and primary together, and promote what the replica has on disk; return a service on that."""
        self.service.kill()
        self.primary.kill()
        self.replica.kill()  # what is only in its memory or in a socket does not count
        self.replica.start().ask("REPLICAOF", "NO", "ONE")
        return Service(folder, redis_url=self.replica.url).start()


@contextmanager
def pair(folder: Path, **settings: Any) -> Iterator[Pair]:  # noqa: ANN401 - any setting
    with ExitStack() as running:
        primary = running.enter_context(valkey_server(folder / "primary", *AT_ONCE))
        replica = running.enter_context(replica_of(primary, folder / "replica"))
        service = running.enter_context(Service(folder / "service", redis_url=primary.url, **settings)).start()
        yield Pair(primary, replica, service)


@contextmanager
def replica_of(primary: Server, folder: Path) -> Iterator[Server]:
    with valkey_server(folder, "--replicaof", f"127.0.0.1 {primary.port}", *AT_ONCE) as replica:
        wait_until(lambda: replica.ask("ROLE")[3] == b"connected", "the replica does not follow")
        yield replica


def test_every_acknowledged_label_survives_the_loss_of_service_and_primary(tmp_path: Path) -> None:
    with pair(tmp_path, durability="replicated") as two, Feeder([two.service], "acme", clients=6) as feeder:
        feeder.wait_for(200)
        with two.lose_all_but_the_replica(tmp_path / "later") as later:
            feeder.stop()
            check([later], "acme", feeder)


def test_local_acknowledgements_are_lost_with_a_primary_whose_replica_is_behind(tmp_path: Path) -> None:
    """What `local` does not promise."""
    with pair(tmp_path) as two:
        assert two.service.feedback("acme", **feedback(0)).status_code == httpx.codes.OK
        wait_until(lambda: two.replica.ask("ROLE")[4] == two.primary.ask("ROLE")[1], "the replica is behind")
        two.replica.freeze()
        for k in range(1, 6):
            assert two.service.feedback("acme", **feedback(k)).status_code == httpx.codes.OK
        with two.lose_all_but_the_replica(tmp_path / "later") as later:
            assert later.tenant("acme")["version"] < 6


def test_nothing_is_acknowledged_while_the_replica_is_stopped_and_a_retry_counts_once(tmp_path: Path) -> None:
    settings = {"durability": "replicated", "replication_timeout_milliseconds": TIMEOUT_MILLISECONDS, "auth": "open"}
    with pair(tmp_path, **settings) as two:
        service = two.service
        for tenant in ("acme", "other"):
            assert service.feedback(tenant, **feedback(0)).status_code == httpx.codes.OK
        model = service.request("GET", "/tenants/acme/export").content
        kept = service.predict("acme", features=feedback(2)["features"]).json()["prediction_id"]
        label = feedback(1) | {"feedback_id": "retried"}
        two.replica.freeze()
        changes: list[tuple[str, str, dict[str, Any]]] = [
            ("POST", "/feedback", {"json": {"tenant": "acme", **label}}),
            ("POST", "/feedback", {"json": {"tenant": "acme", **label}}),  # the log has it: still not acknowledged
            ("POST", "/feedback", {"json": {"tenant": "acme", "prediction_id": kept, "label": 1, "feedback_id": "k"}}),
            ("POST", "/feedback", {"json": {"tenant": "new", **feedback(1)}}),
            ("PUT", "/tenants/acme", {"json": {"threshold": 0.25}}),
            ("PUT", "/tenants/acme", {"json": {}}),  # nothing to change
            ("PUT", "/tenants/fresh", {"json": {}}),
            ("POST", "/tenants/copy/import", {"content": model}),
            ("DELETE", "/tenants/other", {}),
            ("POST", "/keys", {"json": {"name": "k", "roles": ["predict"], "tenants": ["*"]}}),
            ("DELETE", "/keys/000000000000", {}),
        ]
        for method, path, options in changes:
            # On a new connection: WAITAOF alone would not cover what an earlier attempt wrote on another one.
            two.primary.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
            wait_until(service.is_ready, "it does not connect again")
            answer = service.request(method, path, **options)
            assert answer.status_code == httpx.codes.SERVICE_UNAVAILABLE, (method, path, answer.text)
            assert NOT_REPLICATED in answer.json()["detail"]
        batch = service.post("/feedback/batch", {"tenant": "acme", "items": [feedback(3)]}).json()
        assert NOT_REPLICATED in str(batch)
        assert service.predict("acme", features=feedback(1)["features"]).status_code == httpx.codes.OK
        two.replica.thaw()
        wait_until(lambda: service.feedback("acme", **label).status_code == httpx.codes.OK, "it does not recover")
        again = service.feedback("acme", **label).json()
        assert again["duplicate"]
        assert str(two.primary.ask("XRANGE", keys_of("acme").log, "-", "+")).count("retried") == 1
        assert service.request("PUT", "/tenants/acme", json={"threshold": 0.25}).status_code == httpx.codes.OK


def test_without_a_replica_a_service_is_not_ready_until_there_is_one(tmp_path: Path) -> None:
    with (
        valkey_server(tmp_path / "primary", *AT_ONCE) as primary,
        Service(tmp_path / "service", redis_url=primary.url, durability="replicated").launch() as service,
    ):
        service.wait_until_listening()
        wait_until(lambda: service.status("/readyz") == 503, "it does not answer")
        wait_until(lambda: "has no connected replica" in service.readiness()["redis"]["detail"], "no reason is given")
        refused = service.feedback("acme", **feedback(1))
        assert refused.status_code == httpx.codes.SERVICE_UNAVAILABLE
        assert "has no connected replica" in refused.json()["detail"]
        with replica_of(primary, tmp_path / "replica"):
            wait_until(service.is_ready, "the replica is not noticed")
            assert service.feedback("acme", **feedback(1)).status_code == httpx.codes.OK


@pytest.mark.redis
@pytest.mark.skipif(redis_binary() is None, reason="redis-server is not installed")
def test_a_server_without_waitaof_is_refused_at_the_start(tmp_path: Path) -> None:
    with (
        redis_server(tmp_path / "store") as server,
        Service(tmp_path / "service", redis_url=server.url, durability="replicated") as service,
    ):
        if not is_old(server):
            pytest.skip("this Redis has WAITAOF")
        assert service.launch().wait() != 0
        assert "without WAITAOF" in service.log()


def is_old(server: Server) -> bool:
    major, minor, *_ = server.client().info("server")["redis_version"].split(".")
    return (int(major), int(minor)) < (7, 2)


def test_the_embedded_store_has_no_replica(tmp_path: Path) -> None:
    with Service(tmp_path, durability="replicated") as service:
        assert service.launch().wait() != 0
        assert "SLUICE_DURABILITY is replicated, but the embedded Valkey has no replica" in service.log()


@pytest.mark.anyio
async def test_in_a_cluster_each_node_proves_its_own_writes(tmp_path: Path) -> None:
    with replicated_cluster(tmp_path) as nodes:
        url = "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in nodes.running[:3])
        durability = Durability(replicated=True, timeout_milliseconds=TIMEOUT_MILLISECONDS)
        async with connected(url, durability=durability) as connection:
            await connection.ping()
            log = EventLog(connection, 60)
            created = {name: await log.create(name) for name in (f"tenant-{k}" for k in range(12))}
            groups = [Group(name, position, [Draft(b"a", "id", "f")]) for name, position in created.items()]
            assert all(isinstance(answer, Appended) for answer in await log.append(groups))
            stopped = nodes.running[3]  # the replica of the first primary
            stopped.freeze()
            retried = await log.append(groups)  # duplicates, on the disk of the replica before
            stopped.thaw()
            assert {type(answer) for answer in retried} == {Appended, StoreUnavailable}
            assert all(isinstance(answer, Appended) for answer in await log.append(groups))
