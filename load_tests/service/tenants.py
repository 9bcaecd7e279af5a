"""A tenant with a million features and many small ones: starts, stalls by snapshots, memory, and cold loads."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import redis

from app.storage.redis_keys import TENANTS, keys_of
from load_tests.harness import traffic
from load_tests.harness.client import call, run
from load_tests.harness.jobs import ClosedLoop, ConstantRate, Done, Percentiles, percentiles
from load_tests.harness.processes import Service, ended, resident_bytes
from load_tests.harness.sizes import Sizes

LARGE, OTHER = "large", "other"
NEVER = {"snapshot_every_events": 1_000_000_000, "snapshot_every_seconds": 31_536_000}
TAIL_BATCH = 500
FIRST = traffic.predicts(traffic.examples(1), LARGE)[0].body
BINARY = "application/octet-stream"

PER_SECOND = 300.0
EXAMPLES = 1000
BEFORE_SECONDS = 1.0  # of traffic before the snapshot, with the start of the client
WARM_UP_SECONDS = 1.0  # for a new tenant and the first feedback after a start

MODELS = 50  # different ones; tenants share nothing in memory, even with equal models
COPIED_AT_ONCE = 100
BUDGET = "4GiB"  # no tenant leaves memory


@dataclass(frozen=True, slots=True)
class Stalls:
    """Latencies of each kind of request without and with a snapshot, and how long the snapshots took."""

    quiet: dict[str, Percentiles]
    with_snapshot: dict[str, Percentiles]
    snapshot_seconds: list[float]


@dataclass(frozen=True, slots=True)
class ManyTenants:
    """Memory of many tenants, and the latency of the first prediction of each."""

    tenants: int
    features: int
    resident_bytes: int
    empty_bytes: int  # of the same process before it has any
    loading: Percentiles


def empty_start_seconds(folder: Path) -> float:
    """From the start of the process to ready, with an empty store."""
    start = time.perf_counter()
    with ended(Service(folder).start()) as service:
        service.is_ready()
        return time.perf_counter() - start


@contextmanager
def large_tenant(folder: Path, sizes: Sizes) -> Iterator[Service]:
    """A running service with the large tenant, which takes no snapshots by itself."""
    with ended(Service(folder, **NEVER).start()) as service:
        service.is_ready()
        model = traffic.model_file(range(sizes.large_features))
        call(service.port, "POST", f"/tenants/{LARGE}/import", model, BINARY)
        examples = traffic.examples(sizes.tail_events // 2, sizes.large_features)  # each comes with both labels
        for request in traffic.feedback_batches(examples, LARGE, TAIL_BATCH):
            call(service.port, "POST", "/feedback/batch", request.body)
        yield service


def restart_seconds(service: Service, *, with_store: bool) -> float:
    """Kill the service, or its store too, and start it: until the first answer of the large tenant."""

    def version() -> int:
        found: int = msgspec.json.decode(call(service.port, "POST", "/predict", FIRST))["version"]
        return found

    before = version()
    service.kill()
    if with_store:
        service.kill_valkey()
    start = time.perf_counter()
    service.start()
    service.wait_for("POST", "/predict", FIRST)
    seconds = time.perf_counter() - start
    if (after := version()) != before:
        raise RuntimeError(f"the tenant was at version {before} before the restart, and is at {after} now")
    return seconds


def measure_stalls(service: Service, sizes: Sizes) -> Stalls:
    """Constant traffic around the large tenant, in turns without and with a snapshot in the middle."""
    examples = traffic.examples(EXAMPLES, sizes.large_features)
    kinds = {
        "/predict on it": traffic.predicts(examples, LARGE),
        "/predict on another tenant": traffic.predicts(examples, OTHER),
        "/feedback on it": traffic.feedbacks(examples, LARGE),
    }
    job = ConstantRate(port=service.port, kinds=kinds, per_second=PER_SECOND, seconds=sizes.snapshot_seconds)
    run(msgspec.structs.replace(job, seconds=WARM_UP_SECONDS))
    quiet, disturbed, taken = [], [], []
    for _ in range(sizes.repeats):
        quiet.append(run(job))
        with ThreadPoolExecutor(1) as beside:
            snapshot = beside.submit(_snapshot_seconds, service)
            disturbed.append(run(job))
            taken.append(snapshot.result())
    return Stalls(_by_kind(quiet), _by_kind(disturbed), taken)


def _snapshot_seconds(service: Service) -> float:
    time.sleep(BEFORE_SECONDS)
    start = time.perf_counter()
    call(service.port, "POST", f"/tenants/{LARGE}/snapshot")
    return time.perf_counter() - start


def _by_kind(runs: list[Done]) -> dict[str, Percentiles]:
    return {kind: percentiles(np.concatenate([each.latencies(kind) for each in runs])) for kind in runs[0].packed}


def measure_many(folder: Path, sizes: Sizes) -> ManyTenants:
    """Make many tenants, restart, and send each one prediction."""
    with ended(Service(folder, memory_budget_bytes=BUDGET, auto_create_tenants=False).start()) as service:
        service.is_ready()
        _make_tenants(service, sizes)
        service.kill()
        service.start()
        service.is_ready()
        empty = resident_bytes(service.pid)
        examples = traffic.examples(100)
        requests = [
            traffic.predicts([examples[number % len(examples)]], _name(number), traffic.NOT_KEPT)[0]
            for number in range(sizes.tenants)
        ]
        loading = percentiles(run(ClosedLoop(port=service.port, requests=requests)).latencies())
        return ManyTenants(sizes.tenants, sizes.tenant_features, resident_bytes(service.pid), empty, loading)


def _make_tenants(service: Service, sizes: Sizes) -> None:
    """Import some, and copy them inside the store: to import all would take longer than to measure them."""
    size = sizes.tenant_features
    for number in range(MODELS):
        model = traffic.model_file(range(number * size, (number + 1) * size))
        call(service.port, "POST", f"/tenants/{_name(number)}/import", model, BINARY)
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


def _name(number: int) -> str:
    return f"tenant-{number:05d}"
