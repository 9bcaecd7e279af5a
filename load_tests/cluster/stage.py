"""The deployment: a cluster, services on it, the router in front of them, and what was acknowledged so far."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from load_tests.cluster import inputs
from load_tests.cluster.connections import Answer, Connections, each
from load_tests.cluster.ledger import Checked, Ledger, checked
from load_tests.cluster.nodes import Cluster, replicated_cluster
from load_tests.cluster.routing import Router
from load_tests.cluster.sizes import Sizes
from load_tests.harness.processes import Service

FIRST = ("a", "b", "c", "d")
SETTINGS = {"memory_budget_bytes": "1GiB", "log_format": "text"}


class Shown(msgspec.Struct, frozen=True):
    """A tenant as a service has it: equal only if all bits are."""

    version: int
    digest: str


class Scored(msgspec.Struct, frozen=True):
    """What an input is worth to a tenant."""

    version: int
    score: float


State = tuple[Shown, Scored]


class Stage:
    """Everything that the steps work on."""

    def __init__(self, folder: Path, cluster: Cluster, sizes: Sizes, say: Callable[[str], None]) -> None:
        self._folder = folder
        self.cluster = cluster
        self.sizes = sizes
        self.say = say
        self.tenants = inputs.names_of(sizes.tenants)
        self.services: dict[str, Service] = {}
        self.connections: dict[str, Connections] = {}
        self.router = Router(self.connections)
        self.ledger = Ledger()

    async def start(self, *names: str) -> None:
        """Start services, new ones or such as were killed; return when all are ready. Nobody is sent to them yet."""
        for name in names:
            if name not in self.services:
                service = Service(self._folder_of(name), redis_url=self.cluster.url, **SETTINGS)
                self.services[name] = service
                self.connections[name] = Connections(name, service.port)
            self.services[name].start()
        for name in names:
            await asyncio.to_thread(self.services[name].is_ready)

    def log_of(self, name: str) -> str:
        """What a service has logged so far."""
        return (self._folder_of(name) / "service.log").read_text(encoding="utf-8")

    def rescued(self) -> int:
        """Models that services had to put into a file, because the log had gone another way."""
        return sum(1 for name in self.services for _ in self._folder_of(name).glob("rescued/*"))

    def _folder_of(self, name: str) -> Path:
        return self._folder / f"service-{name}"

    def kill(self, name: str) -> None:
        """Kill at once (-9). The router is not told: it finds out."""
        self.services[name].kill()
        self.connections[name].close()

    def tenants_of(self, service: str) -> list[str]:
        """Whose home it is now."""
        return [tenant for tenant in self.tenants if self.router.home(tenant) == service]

    async def predict(self, tenant: str) -> Answer:
        """Ask a tenant's home."""
        return await self.router.ask(tenant, "POST", "/predict", inputs.prediction(tenant))

    async def states(self, tenants: Iterable[str], service: str | None = None) -> dict[str, State]:
        """What the tenants' homes, or one service, know of them, bit for bit."""

        async def state(tenant: str) -> State:
            asked = self.connections[service or self.router.home(tenant)]
            shown = await asked.ask("GET", f"/tenants/{tenant}")
            scored = await asked.ask("POST", "/predict", inputs.prediction(tenant))
            return shown.read(Shown), scored.read(Scored)

        return await each(tenants, state)

    async def checked(self, tenants: Iterable[str] | None = None) -> Checked:
        """Compare the logs with what was acknowledged until now, of some tenants or of all."""
        return await asyncio.to_thread(checked, self.cluster.url, self.ledger.given(tenants))

    def hang_up(self) -> None:
        """Close all connections, while there is a loop for it."""
        for connections in self.connections.values():
            connections.close()

    def close(self) -> None:
        """End every service."""
        for service in self.services.values():
            service.end()


@contextmanager
def staged(folder: Path, sizes: Sizes, say: Callable[[str], None]) -> Iterator[Stage]:
    """A cluster, and nothing on it yet. All that is started on this stage ends with the block."""
    with replicated_cluster(folder / "cluster") as cluster:
        stage = Stage(folder, cluster, sizes, say)
        try:
            yield stage
        finally:
            stage.close()
