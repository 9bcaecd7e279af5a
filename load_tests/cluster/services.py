"""The services, the router in front of them, and the tenants that are asked.

Rendezvous hashing, as a load balancer may do it: every service draws a number for the tenant; the highest is its home,
and the next one stands in when that is away. A service that joins takes a part from each of the others, one that leaves
gives its part to all of them, and no other tenant moves.
"""

import asyncio
import hashlib
import json
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from load_tests.cluster.logs import Checked, check
from load_tests.cluster.nodes import Cluster, replicated_cluster
from load_tests.harness.client import Pool
from load_tests.harness.processes import Service
from load_tests.harness.sizes import Sizes

FIRST = ("a", "b", "c", "d")
SETTINGS = {"memory_budget_bytes": "1GiB", "log_format": "text"}
NO_ANSWER = 0  # in the place of a status
FEATURES = 12
VOCABULARY = 400
PROBE = 999_983  # the number of the input by which scores are compared

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, of which service, and when; the status is 0 without one."""

    service: str
    status: int
    body: bytes
    begin: float
    end: float

    @property
    def seconds(self) -> float:
        return self.end - self.begin

    def read(self, *fields: str) -> tuple[Any, ...]:
        """Fields of the body; any status but 200 ends the simulation."""
        if self.status != 200:
            raise RuntimeError(f"service {self.service} answered {self.status}: {self.body[:500].decode()}")
        body = json.loads(self.body)
        return tuple(body[name] for name in fields)


class Router:
    """Knows which services there are, and which of them do not answer."""

    def __init__(self, pools: Mapping[str, Pool]) -> None:
        self._pools = pools
        self.up: set[str] = set()
        self.sent_on = 0  # requests that went to the next service, because one gave no answer

    def home(self, tenant: str) -> str:
        return order(tenant, self.up)[0]

    async def send(self, tenant: str, method: str, path: str, body: bytes = b"") -> Answer:
        """Ask the tenant's home, and the next service if it does not answer; the request may arrive twice."""
        answer = Answer("none", NO_ANSWER, b"", 0.0, 0.0)
        for service in order(tenant, self.up):
            answer = await self.send_to(service, method, path, body)
            if answer.status != NO_ANSWER:
                break
            self.up.discard(service)
            self.sent_on += 1
        return answer

    async def send_to(self, service: str, method: str, path: str, body: bytes = b"") -> Answer:
        begin = time.perf_counter()
        try:
            response = await self._pools[service].send(method, path, body)
        except (OSError, EOFError):
            return Answer(service, NO_ANSWER, b"", begin, time.perf_counter())
        return Answer(service, response.status, response.body, begin, time.perf_counter())


def order(tenant: str, services: Iterable[str]) -> list[str]:
    """The services in the order in which they are to be asked for a tenant: its home first."""

    def draw(service: str) -> bytes:
        return hashlib.blake2b(f"{service}\0{tenant}".encode(), digest_size=8).digest()

    return sorted(services, key=draw, reverse=True)


_numbers = count()


def new_id() -> str:
    return f"label-{next(_numbers)}"


def prediction(tenant: str, *, keep: bool = False) -> bytes:
    return json.dumps({"tenant": tenant, "features": _features(tenant, PROBE), "keep": keep}).encode()


def label(tenant: str, number: int, feedback_id: str) -> bytes:
    """The body of POST /feedback, which follows from the tenant and a number."""
    return json.dumps({"tenant": tenant, **_labelled(tenant, number, feedback_id)}).encode()


def _labelled(tenant: str, number: int, feedback_id: str) -> dict[str, object]:
    kind = 1 if number % 4 == 0 else -1
    return {"features": _features(tenant, number), "label": kind, "feedback_id": feedback_id}


def _features(tenant: str, number: int) -> dict[str, float]:
    """Another mixture for every tenant, so that no two models are equal."""
    seed = int(tenant.rpartition("-")[2]) * 31 + number * 7919
    return {f"word:{(seed + k * k * 104_729) % VOCABULARY}": 1 + (seed + k) % 5 / 4 for k in range(FEATURES)}


class Deployment:
    """A cluster, services on it, the router in front of them, and the labels that were acknowledged so far."""

    def __init__(self, folder: Path, cluster: Cluster, sizes: Sizes) -> None:
        self.folder = folder
        self.cluster = cluster
        self.sizes = sizes
        self.tenants = [f"tenant-{number:05d}" for number in range(sizes.cluster_tenants)]
        self.services: dict[str, Service] = {}
        self.pools: dict[str, Pool] = {}
        self.router = Router(self.pools)
        self.acknowledged: dict[str, set[str]] = {tenant: set() for tenant in self.tenants}

    async def start(self, *names: str) -> None:
        """Start services, new ones or killed ones; return when all are ready. The router does not know them yet."""
        for name in names:
            if name not in self.services:
                self.services[name] = Service(self.folder / f"service-{name}", redis_url=self.cluster.url, **SETTINGS)
                self.pools[name] = Pool(self.services[name].port)
            self.services[name].start()
        for name in names:
            await asyncio.to_thread(self.services[name].is_ready)

    def tenants_of(self, service: str) -> list[str]:
        return [tenant for tenant in self.tenants if self.router.home(tenant) == service]

    async def predict(self, tenant: str) -> Answer:
        return await self.router.send(tenant, "POST", "/predict", prediction(tenant))

    async def teach(self, tenant: str) -> None:
        names = [new_id() for _ in range(self.sizes.first_labels)]
        items = [_labelled(tenant, number, name) for number, name in enumerate(names)]
        batch = json.dumps({"tenant": tenant, "items": items}).encode()
        (await self.router.send(tenant, "POST", "/feedback/batch", batch)).read()
        self.acknowledged[tenant].update(names)
        (await self.router.send(tenant, "POST", "/predict", prediction(tenant, keep=True))).read()

    async def states(self, tenants: Iterable[str], service: str | None = None) -> dict[str, tuple[Any, ...]]:
        """Version, digest and score of tenants at their homes, or at one service: equal only if all bits are."""

        async def state(tenant: str) -> tuple[Any, ...]:
            asked = service or self.router.home(tenant)
            shown = await self.router.send_to(asked, "GET", f"/tenants/{tenant}")
            scored = await self.router.send_to(asked, "POST", "/predict", prediction(tenant))
            return (*shown.read("version", "digest"), *scored.read("version", "score"))

        return await each(tenants, state)

    async def checked(self, tenants: Iterable[str] | None = None) -> Checked:
        """Compare the logs with the labels that are acknowledged by now, of some tenants or of all."""
        given = {tenant: frozenset(self.acknowledged[tenant]) for tenant in tenants or self.tenants}
        return await asyncio.to_thread(check, self.cluster.url, given)


@contextmanager
def deployed(folder: Path, sizes: Sizes) -> Iterator[Deployment]:
    """A cluster without services. All that is started on it ends with the block."""
    with replicated_cluster(folder / "cluster") as cluster:
        deployment = Deployment(folder, cluster, sizes)
        try:
            yield deployment
        finally:
            for service in deployment.services.values():
                service.end()


async def each(
    items: Iterable[Item], work: Callable[[Item], Awaitable[Result]], at_once: int = 8
) -> dict[Item, Result]:
    limit = asyncio.Semaphore(at_once)

    async def one(item: Item) -> tuple[Item, Result]:
        async with limit:
            return item, await work(item)

    return dict(await asyncio.gather(*map(one, items)))
