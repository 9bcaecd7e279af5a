"""A store with services on it: every kind of store that Sluice can use, as real processes."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests import servers
from tests.servers import ClusterOfThree, SentinelSetup, Server
from tests.services import Service

Store = Server | ClusterOfThree | SentinelSetup

needs_redis = pytest.mark.skipif(servers.redis_binary() is None, reason="redis-server is not installed")
EMBEDDED = pytest.param("embedded")
REDIS = pytest.param("redis", marks=[needs_redis, pytest.mark.redis])
SERVER = "redis" if servers.redis_binary() else "valkey"  # a separate server, for tests that need one
on_a_server = pytest.mark.parametrize("kind", [SERVER])  # its name is in the test id

STORES: dict[str, Callable[[Path], AbstractContextManager[Store]]] = {
    "valkey": servers.valkey_server,
    "redis": servers.redis_server,
    "cluster": servers.cluster,
    "sentinel": servers.sentinel,
}


@dataclass
class Deployment:
    """Services that share one store."""

    kind: str
    folder: Path
    store: Store | None  # None: the services share the embedded store of the first one
    settings: dict[str, Any]
    services: list[Service] = field(default_factory=list)

    @property
    def server(self) -> Server:
        """The server of a single-server store."""
        assert isinstance(self.store, Server)
        return self.store

    @property
    def url(self) -> str:
        return self.store.url if self.store else self.services[0].store_url

    def new_service(self, **settings: Any) -> Service:  # noqa: ANN401 - any setting
        """Add a service without starting it."""
        url = self.url if self.store or self.services else None
        number = len(self.services)
        service = Service(self.folder / f"service{number}", redis_url=url, **(self.settings | settings))
        self.services.append(service)
        return service

    def rescued(self, tenant: str) -> list[Path]:
        """Return the files with rescued states of a tenant."""
        return list(self.folder.glob(f"*/data/rescued/{tenant}-*"))

    def close(self) -> None:
        for service in self.services:
            service.close()


@contextmanager
def deployment(kind: str, folder: Path, number: int = 1, **settings: Any) -> Iterator[Deployment]:  # noqa: ANN401 - any setting
    """Start services on a store of this kind for the length of a block."""
    with ExitStack() as running:
        store = running.enter_context(STORES[kind](folder / "store")) if kind in STORES else None
        made = Deployment(kind, folder, store, settings)
        running.callback(made.close)
        for _ in range(number):
            made.new_service().launch()
        for service in made.services:
            service.wait_until_ready()
        yield made
