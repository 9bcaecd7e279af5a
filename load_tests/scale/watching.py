"""A service under measurement: what its workers and its store use of processors and memory."""

import time
from collections.abc import Iterable
from dataclasses import dataclass

import redis

from load_tests.harness.processes import Service, processor_seconds
from load_tests.scale.figures import Idle
from tests.processes import descendants


@dataclass(frozen=True, slots=True)
class Work:
    """Processor seconds so far."""

    workers: float
    store: float

    def since(self, before: "Work") -> "Work":
        """What was added."""
        return Work(self.workers - before.workers, self.store - before.store)


@dataclass(frozen=True, slots=True)
class Setup:
    """A service with its store: the embedded one, or others of which the processes are given."""

    service: Service
    stores: tuple[int, ...] = ()

    def work(self) -> Work:
        """Up to now. What a store starts to write its files anew comes and goes, and is not counted."""
        stores = set(self.stores or filter(None, [self.service.valkey_pid]))
        passing = {child for store in stores for child in descendants(store)}
        workers = {self.service.pid, *descendants(self.service.pid)} - stores - passing
        return Work(*(sum(map(processor_seconds, pids)) for pids in (workers, stores)))

    def idle(self, seconds: float) -> Idle:
        """How many cores are busy meanwhile."""
        before, start = self.work(), time.perf_counter()
        time.sleep(seconds)
        added, taken = self.work().since(before), time.perf_counter() - start
        return Idle(added.workers / taken, added.store / taken)


def busy_cores(pids: Iterable[int], seconds: float) -> float:
    """How many cores these processes keep busy meanwhile."""
    some, start = list(pids), time.perf_counter()
    before = sum(map(processor_seconds, some))
    time.sleep(seconds)
    return (sum(map(processor_seconds, some)) - before) / (time.perf_counter() - start)


def store_bytes(service: Service) -> int:
    """Memory that the embedded store uses now."""
    with redis.Redis(unix_socket_path=str(service.socket)) as store:
        return int(store.info("memory")["used_memory"])
