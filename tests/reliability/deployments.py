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
SERVER = "redis" if servers.redis_binary() else "valkey"  # any server of its own, for what only such a one can do
on_a_server = pytest.mark.parametrize("kind", [SERVER])  # so that its name is in the test's

STORES: dict[str, Callable[[Path], AbstractContextManager[Store]]] = {
    "valkey": servers.valkey_server,
    "redis": servers.redis_server,
    "cluster": servers.cluster,
    "sentinel": servers.sentinel,
}


@dataclass
class Deployment:
    """Some services that share one store."""

    kind: str
    folder: Path
    store: Store | None  # none: the first service has an embedded one, and the others use that too
    settings: dict[str, Any]
    services: list[Service] = field(default_factory=list)

    @property
    def server(self) -> Server:
        """The one server behind it."""
        assert isinstance(self.store, Server)
        return self.store

    @property
    def url(self) -> str:
        return self.store.url if self.store else self.services[0].store_url

    def new_service(self, **settings: Any) -> Service:  # noqa: ANN401 - any setting
        """One more, not yet started."""
        url = self.url if self.store or self.services else None
        number = len(self.services)
        service = Service(self.folder / f"service{number}", redis_url=url, **(self.settings | settings))
        self.services.append(service)
        return service

    def rescued(self, tenant: str) -> list[Path]:
        """The files in which services have kept what the store had lost."""
        return list(self.folder.glob(f"*/data/rescued/{tenant}-*"))

    def close(self) -> None:
        for service in self.services:
            service.close()


@contextmanager
def deployment(kind: str, folder: Path, number: int = 1, **settings: Any) -> Iterator[Deployment]:  # noqa: ANN401 - any setting
    """Services that have been started, on a store of this kind; all ends with the test."""
    with ExitStack() as running:
        store = running.enter_context(STORES[kind](folder / "store")) if kind in STORES else None
        made = Deployment(kind, folder, store, settings)
        running.callback(made.close)
        for _ in range(number):
            made.new_service().launch()
        for service in made.services:
            service.wait_until_ready()
        yield made
