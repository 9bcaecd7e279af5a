"""The deployment: two services, a primary and its replica, and a proxy on every connection to the primary."""

import resource
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import redis

from app.auth.keys import ROLES
from load_tests.harness.processes import in_thread
from load_tests.soak.deployment import until
from load_tests.torture.clock import Clock, libfaketime
from load_tests.torture.proxy import Proxy
from load_tests.torture.schedule import SERVICES, Durability
from tests.reliability.test_metrics import samples
from tests.servers import DURABLE, Server, free_cluster_port, valkey_binary
from tests.services import Service

KEEP_ALL = 10**12  # events of every log, so that all labels can be counted in the end
SMALL_BUDGET_BYTES, BUDGET_BYTES = 16 * 2**20, 256 * 2**20
PENDING_TTL_SECONDS, PENDING_PER_TENANT = 60, 500
SNAPSHOT_EVENTS, SNAPSHOT_SECONDS = 50, 3
PATIENCE_SECONDS = 60.0
AT_ONCE = ("--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1")


class Store(Server):
    """A durable Valkey with a clock of its own, whose disk can be full."""

    def __init__(self, folder: Path, library: str | None) -> None:
        env = shutil.which("env")
        assert env, "`env` of coreutils is missing"
        super().__init__(env, folder, *DURABLE, *AT_ONCE, port=free_cluster_port())
        self.clock = Clock(folder / "clock")
        self._library = library  # without it, the clock does not jump

    def _before(self) -> list[str]:
        # Writes beyond RLIMIT_FSIZE then fail with an error, as on a full disk, and not with a signal.
        variables = self.clock.of_a_server(self._library) if self._library else {}
        assignments = (f"{name}={value}" for name, value in variables.items())
        return ["--ignore-signal=XFSZ", *assignments, valkey_binary()]

    def follow(self, port: int) -> None:
        self.ask("REPLICAOF", "127.0.0.1", port)

    def fill_disk(self, left_bytes: int) -> None:
        """Let it write this much more into its append-only file, and no byte beyond."""
        largest = max((path.stat().st_size for path in self.folder.glob("appendonlydir/*.aof")), default=0)
        resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (largest + left_bytes, resource.RLIM_INFINITY))

    def free_disk(self) -> None:
        unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        with suppress(ProcessLookupError):
            resource.prlimit(self.pid, resource.RLIMIT_FSIZE, unlimited)

    @property
    def has_ended(self) -> bool:
        return self.process is None or self.process.poll() is not None

    def tell(self, section: str, field: str) -> object:
        """A field of INFO; None without an answer."""
        with suppress(redis.RedisError):
            return self.ask("INFO", section).get(field)
        return None


class Node(Service):
    """A service with a proxy to the store, and a clock of its own."""

    command = (sys.executable, "-m", "load_tests.torture.clock", "serve")

    def __init__(self, folder: Path, temporary: str, proxy: Proxy, **settings: Any) -> None:  # noqa: ANN401 - any setting
        url = f"redis://127.0.0.1:{proxy.port}"
        # Its port stays over restarts, so it must not be ephemeral.
        super().__init__(folder, redis_url=url, port=free_cluster_port(), **settings)
        self.proxy = proxy
        self._temporary = temporary
        self.clock = Clock(folder / "clock")

    def _environment(self) -> dict[str, str]:
        return super()._environment() | self.clock.of_a_service | {"TMPDIR": self._temporary}

    def processes(self) -> list[int]:
        return self._note_processes()


class Deployment:
    """All processes of a run."""

    def __init__(self, folder: Path, durability: Durability) -> None:
        self.folder = folder
        library = libfaketime()
        self.store_has_clock = library is not None
        self.primary = Store(folder / "store 1", library)
        self.replica = Store(folder / "store 2", library)
        self.replication = Proxy(self.primary.port)  # the replica's connection to its primary
        self.proxies = [Proxy(self.primary.port) for _ in range(SERVICES)]
        self.nodes: list[Node] = []
        self.admin_key = ""
        self._temporary = ""
        self._settings = {"durability": str(durability)} if durability is not Durability.LOCAL else {}

    def new_node(self, number: int, name: str, **settings: Any) -> Node:  # noqa: ANN401 - any setting
        """A service that is not started yet."""
        return Node(
            self.folder / name,
            self._temporary,
            self.proxies[number],
            pending_ttl_seconds=PENDING_TTL_SECONDS,
            pending_max_per_tenant=PENDING_PER_TENANT,
            snapshot_every_events=SNAPSHOT_EVENTS,
            snapshot_every_seconds=SNAPSHOT_SECONDS,
            log_retention_events=KEEP_ALL,
            wrong_keys_per_second=0,  # clients try revoked keys again and again
            **(self._settings | settings),
        )

    async def start(self, stack: AsyncExitStack) -> None:
        for store in (self.primary, self.replica):
            await in_thread(stack.enter_context(store).start)
        for proxy in (self.replication, *self.proxies):
            await proxy.start()
            stack.push_async_callback(proxy.close)
        self.replica.follow(self.replication.port)
        await self.replicated()
        # What killed services leave. Its name is short: it has Unix sockets, whose paths are limited.
        self._temporary = stack.enter_context(TemporaryDirectory(prefix="t", ignore_cleanup_errors=True))
        self.nodes = [
            self.new_node(0, "service 1", workers=2, memory_budget_bytes=BUDGET_BYTES),
            self.new_node(1, "service 2", memory_budget_bytes=SMALL_BUDGET_BYTES),
        ]
        for node in self.nodes:
            stack.enter_context(node).launch()
        for node in self.nodes:
            await in_thread(node.wait_until_ready)
        await in_thread(self._create_admin_key)

    def _create_admin_key(self) -> None:
        wanted = {"name": "torture", "roles": list(ROLES), "tenants": ["*"]}
        answer = self.nodes[0].post("/keys", wanted).raise_for_status()
        self.admin_key = answer.json()["secret"]
        for node in self.nodes:
            node.client.headers["x-api-key"] = self.admin_key

    def repairs(self) -> float:
        """How many repairs of tenants the services have made."""
        return sum(sample.value for node in self.nodes for sample in samples(node, "sluice_log_repairs_total"))

    async def replicated(self) -> None:
        """Wait until the replica has everything that the primary has."""
        await until(self._is_replicated, PATIENCE_SECONDS, "the replica does not follow its primary")

    def _is_replicated(self) -> bool:
        if self.replica.tell("replication", "master_link_status") != "up":
            return False
        behind = self.replica.tell("replication", "slave_repl_offset")
        return behind is not None and behind == self.primary.tell("replication", "master_repl_offset")

    async def promote(self) -> None:
        """Kill the primary, and make the replica the primary. Services find it at the same address."""
        self.replication.shut()
        self.primary.kill()
        self.replica.ask("REPLICAOF", "NO", "ONE")
        self.primary, self.replica = self.replica, self.primary
        for proxy in (*self.proxies, self.replication):
            proxy.target = self.primary.port
            proxy.reset()

    async def restore_replica(self) -> None:
        """Start the old primary as an empty replica of the new one."""
        shutil.rmtree(self.replica.folder / "appendonlydir", ignore_errors=True)
        await in_thread(self.replica.start)
        self.replication.is_open = True
        self.replica.follow(self.replication.port)
        await self.replicated()


@asynccontextmanager
async def deployed(folder: Path, durability: Durability) -> AsyncIterator[Deployment]:
    async with AsyncExitStack() as stack:
        found = Deployment(folder, durability)
        await found.start(stack)
        yield found
