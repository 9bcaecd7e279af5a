"""Many tenants in one process: how much memory they take, and how long the first prediction of each waits."""

from dataclasses import dataclass
from pathlib import Path

import redis

from app.storage.redis_keys import TENANTS, keys_of
from load_tests.harness import traffic
from load_tests.harness.client import call as ask_well
from load_tests.harness.client import run as done
from load_tests.harness.jobs import ClosedLoop
from load_tests.harness.processes import Service, ended, resident_bytes
from load_tests.service.large_tenant import model_file
from load_tests.service.runs import Percentiles, percentiles
from load_tests.service.sizes import Sizes

MODELS = 50  # different ones; tenants share nothing in memory, also where their models are equal
COPIED_AT_ONCE = 100
BUDGET = "4GiB"  # so that none is dropped


@dataclass(frozen=True, slots=True)
class ManyTenants:
    """What they took."""

    tenants: int
    features: int
    resident_bytes: int
    empty_bytes: int  # of the same process before it had any
    loading: Percentiles


def measure(folder: Path, sizes: Sizes) -> ManyTenants:
    """Make them, start anew, and ask each once."""
    service = Service(folder, memory_budget_bytes=BUDGET, auto_create_tenants=False)
    with ended(service.start()):
        service.is_ready()
        _make_all(service, sizes)
        service.kill()
        service.start()
        service.is_ready()
        empty = resident_bytes(service.pid)
        loading = percentiles(done(_first_requests(service, sizes)).latencies())
        return ManyTenants(sizes.tenants, sizes.features_of_each, resident_bytes(service.pid), empty, loading)


def _make_all(service: Service, sizes: Sizes) -> None:
    """Import some, and copy them inside the store: to import all would take longer than to measure them."""
    size = sizes.features_of_each
    for number in range(MODELS):
        model = model_file(range(number * size, (number + 1) * size))
        ask_well(service.port, "POST", f"/tenants/{_name(number)}/import", model, "application/octet-stream")
    with redis.Redis(unix_socket_path=str(service.socket)) as store:
        for start in range(MODELS, sizes.tenants, COPIED_AT_ONCE):
            _copy(store, range(start, min(start + COPIED_AT_ONCE, sizes.tenants)))


def _copy(store: "redis.Redis", numbers: range) -> None:
    with store.pipeline(transaction=False) as pipeline:
        for number in numbers:
            model, tenant = keys_of(_name(number % MODELS)), keys_of(_name(number))
            for kind in ("meta", "headers", "chunks"):
                pipeline.copy(getattr(model, kind), getattr(tenant, kind))
            pipeline.zadd(TENANTS, {_name(number): 0})
        if not all(pipeline.execute()):
            raise RuntimeError("a tenant could not be copied inside the store")


def _first_requests(service: Service, sizes: Sizes) -> ClosedLoop:
    examples = traffic.examples(100)
    requests = [
        traffic.predicts([examples[number % len(examples)]], _name(number), b',"keep":false')[0]
        for number in range(sizes.tenants)
    ]
    return ClosedLoop(port=service.port, requests=requests, connections=1)


def _name(number: int) -> str:
    return f"tenant-{number:05d}"
