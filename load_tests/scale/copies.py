"""Many tenants in the store: one is imported, the others are copied from it, since importing them would take long."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import redis

from app.storage.redis_keys import TENANTS, keys_of
from load_tests.harness.client import run as done
from load_tests.harness.jobs import ClosedLoop, Percentiles, Request, percentiles
from load_tests.harness.processes import Service
from load_tests.scale.requests import NOT_KEPT, import_model, predict
from load_tests.scale.watching import Setup, Work

AT_ONCE = 100
ASKED_AT_ONCE = 10_000
FIRST = b'{"token:w0":1}'  # so short that loading is nearly all of the work
COPIED = ("meta", "headers", "chunks")


@dataclass(frozen=True, slots=True)
class Copies:
    """Tenants of one size, by number; number 0 is the imported one. In the memory of a worker they share nothing."""

    service: Service
    features: int

    def name(self, number: int) -> str:
        """Of a tenant."""
        return f"copy-{self.features}-{number:06d}"

    def make(self, numbers: range) -> None:
        """Import the first one, or copy it."""
        if 0 in numbers:
            import_model(self.service, self.name(0), self.features)
        with redis.Redis(unix_socket_path=str(self.service.socket)) as store:
            for some in _parts([number for number in numbers if number], AT_ONCE):
                self._copy(store, some)

    def _copy(self, store: "redis.Redis", numbers: Sequence[int]) -> None:
        model = keys_of(self.name(0))
        with store.pipeline(transaction=False) as pipeline:
            for number in numbers:
                tenant = keys_of(self.name(number))
                for kind in COPIED:
                    pipeline.copy(getattr(model, kind), getattr(tenant, kind))
                pipeline.zadd(TENANTS, {self.name(number): 0})
            if not all(pipeline.execute()):
                raise RuntimeError("a tenant could not be copied inside the store")

    def load(self, count: int, connections: int) -> tuple[Work, Percentiles]:
        """Ask each of the first tenants once, so that all are in memory; what that took in all, and latencies."""
        setup, before = Setup(self.service), Setup(self.service).work()
        latencies = Percentiles(0.0, 0.0, 0.0, 0.0)
        for numbers in _parts(range(count), ASKED_AT_ONCE):
            requests = [Request(predict(self.name(number), FIRST, NOT_KEPT)) for number in numbers]
            job = ClosedLoop(port=self.service.port, requests=requests, connections=connections)
            latencies = percentiles(done(job).latencies())  # of the last part: there is one where it matters
        return setup.work().since(before), latencies


def _parts(numbers: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    return (numbers[start : start + size] for start in range(0, len(numbers), size))
