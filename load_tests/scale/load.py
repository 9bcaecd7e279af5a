"""Services under load: their requests and models, and what workers and store use of processors and memory."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import TypeVar

import redis

from app.storage.embedded.orphans import socket_path
from app.storage.redis_keys import TENANTS, keys_of
from load_tests.harness import client
from load_tests.harness.jobs import ClosedLoop, Percentiles, Request, percentiles
from load_tests.harness.processes import Service, processor_seconds
from load_tests.harness.sizes import CONNECTIONS, Sizes
from load_tests.harness.traffic import NOT_KEPT, feedback, labelled, model_file, predict
from load_tests.harness.wrk import wrk
from load_tests.scale.results import Cost, Costs, Figure, Kind, Work
from tests.processes import descendants

EXAMPLES = 1000
SHORT = b'{"token:w0":1}'  # so short that loading the tenant is nearly all of the work
NEVER = {"snapshot_every_events": 1_000_000_000, "snapshot_every_seconds": 31_536_000}

Key = TypeVar("Key")


class Measured(Service):
    """A service that takes no snapshots by itself, with its store: the embedded one, or processes that are named."""

    def __init__(self, folder: Path, stores: tuple[int, ...] = (), **settings: object) -> None:
        super().__init__(folder, **NEVER, **settings)
        self._stores = stores

    def restart(self) -> float:
        self.kill()
        start = time.perf_counter()
        self.start().is_ready()
        return time.perf_counter() - start

    def work(self) -> Work:
        """Processor seconds so far, without what a store starts for a while to rewrite its files."""
        stores = set(self._stores or filter(None, [self.valkey_pid]))
        passing = {child for store in stores for child in descendants(store)}
        workers = {self.pid, *descendants(self.pid)} - stores - passing
        return Work(*(sum(map(processor_seconds, pids)) for pids in (workers, stores)))

    def store(self) -> "redis.Redis":
        return redis.Redis(unix_socket_path=str(socket_path(self.folder)))

    def store_bytes(self) -> int:
        with self.store() as store:
            return int(store.info("memory")["used_memory"])

    def call(self, method: str, path: str, body: bytes = b"") -> bytes:
        return client.call(self.port, method, path, body)

    def seconds(self, method: str, path: str, body: bytes = b"") -> float:
        start = time.perf_counter()
        client.call(self.port, method, path, body)
        return time.perf_counter() - start

    def send(self, requests: Iterable[bytes], connections: int) -> Percentiles:
        job = ClosedLoop(port=self.port, requests=list(map(Request, requests)), connections=connections)
        return percentiles(client.run(job).latencies())

    def import_model(self, tenant: str, features: int) -> None:
        """Create a tenant whose model has learnt so many features, each once."""
        model = model_file(range(features), max(features, 1 << 22))
        client.call(self.port, "POST", f"/tenants/{tenant}/import", model, "application/octet-stream")


def busy_cores(work: Callable[[], Work], seconds: float) -> Work:
    """Cores that are busy in this time, by what was worked before and after it."""
    before, start = work(), time.perf_counter()
    time.sleep(seconds)
    used, taken = work().since(before), time.perf_counter() - start
    return Work(used.workers / taken, used.store / taken)


def in_turns(loads: Mapping[Key, tuple[Measured, Mapping[Kind, list[bytes]]]], sizes: Sizes) -> dict[Key, Costs]:
    """Send every load once in every round, so that a noisy moment affects all alike."""
    turns: dict[tuple[Key, Kind], list[tuple[float, ...]]] = {}
    for _ in range(sizes.scale_rounds):
        for key, (service, kinds) in loads.items():
            for kind, requests in kinds.items():
                turns.setdefault((key, kind), []).append(_turn(service, kind, requests, sizes.wrk_seconds))
    costs = {name: Cost(*(Figure(list(values)) for values in zip(*some, strict=True))) for name, some in turns.items()}
    return {key: {kind: costs[key, kind] for kind in kinds} for key, (_, kinds) in loads.items()}


def _turn(service: Measured, kind: str, requests: Sequence[bytes], seconds: float) -> tuple[float, ...]:
    """One load in one round: the fields of a `Cost`."""
    before = service.work()
    peak = wrk(service.port, requests, CONNECTIONS, seconds)
    used, sent = service.work().since(before), peak.rate * max(round(seconds), 1)
    if peak.bad:
        raise RuntimeError(f"{peak.bad:,} requests of {kind!r} were not answered with 2xx")
    return peak.rate, peak.p50, peak.p99, 1e6 * used.workers / sent, 1e6 * used.store / sent, peak.cores


def by_kind(examples: Sequence[bytes], tenants: Sequence[str]) -> dict[Kind, list[bytes]]:
    """Every kind of request for each example, with the tenants in turn; feedback with both labels."""
    pairs, both = list(zip(examples, cycle(tenants))), zip(labelled(examples), cycle(tenants))
    return {
        Kind.PREDICT: [predict(features, tenant) for features, tenant in pairs],
        Kind.NOT_KEPT: [predict(features, tenant, NOT_KEPT) for features, tenant in pairs],
        Kind.FEEDBACK: [feedback(features, tenant, label) for (features, label), tenant in both],
    }


@dataclass(frozen=True, slots=True)
class Copies:
    """Tenants of one size that share no memory. One is imported; the others are copied in the store, which is fast."""

    service: Measured
    features: int

    def name(self, number: int) -> str:
        return f"copy-{self.features}-{number:06d}"

    def make(self, numbers: range) -> None:
        first = keys_of(self.name(0))
        if 0 in numbers:
            self.service.import_model(self.name(0), self.features)
        with self.service.store() as store, store.pipeline(transaction=False) as pipeline:
            for name in map(self.name, filter(None, numbers)):
                for kind in ("meta", "headers", "chunks"):
                    pipeline.copy(getattr(first, kind), getattr(keys_of(name), kind))
                pipeline.zadd(TENANTS, {name: 0})
            if not all(pipeline.execute()):
                raise RuntimeError("a tenant could not be copied inside the store")

    def load(self, count: int, connections: int) -> Percentiles:
        return self.service.send((predict(SHORT, self.name(number), NOT_KEPT) for number in range(count)), connections)
