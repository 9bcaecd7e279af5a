"""A tenant with a million features and many small ones: starts, stalls by snapshots, memory, and cold loads."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

import msgspec

from load_tests.harness import traffic
from load_tests.harness.client import call, run
from load_tests.harness.jobs import ClosedLoop, ConstantRate, Percentiles, Request, percentiles_of
from load_tests.harness.processes import Service, resident_bytes
from load_tests.harness.sizes import Sizes
from load_tests.scale.load import Copies, Measured

LARGE, OTHER = "large", "other"
TAIL_BATCH = 500
FIRST = traffic.predicts(traffic.examples(1), LARGE)[0].body

PER_SECOND = 300.0
EXAMPLES = 1000
BEFORE_SECONDS = 1.0  # of traffic before the snapshot, with the start of the client
WARM_UP_SECONDS = 1.0  # for a new tenant and the first feedback after a start

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

    resident_bytes: int
    empty_bytes: int  # of the same process before it has any
    loading: Percentiles


def empty_start_seconds(folder: Path) -> float:
    start = time.perf_counter()
    with Service(folder).running():
        return time.perf_counter() - start


@contextmanager
def large_tenant(folder: Path, sizes: Sizes) -> Iterator[Measured]:
    """A running service with the large tenant, which takes no snapshots by itself."""
    with Measured(folder).running() as service:
        service.import_model(LARGE, sizes.large_features)
        examples = traffic.examples(sizes.tail_events // 2, sizes.large_features)  # each comes with both labels
        tail = traffic.feedback_batches(examples, LARGE, TAIL_BATCH)
        run(ClosedLoop(port=service.port, requests=tail, marks=0))
        yield service


def restart_seconds(service: Service, *, with_store: bool) -> float:
    """Kill the service, or its store too, and start it: until the first answer of the large tenant."""

    def version() -> object:
        return msgspec.json.decode(call(service.port, "POST", "/predict", FIRST))["version"]

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


def measure_stalls(service: Measured, sizes: Sizes) -> Stalls:
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

    def snapshot_seconds() -> float:
        time.sleep(BEFORE_SECONDS)
        return service.seconds("POST", f"/tenants/{LARGE}/snapshot")

    for _ in range(sizes.repeats):
        quiet.append(run(job))
        with ThreadPoolExecutor(1) as beside:
            snapshot = beside.submit(snapshot_seconds)
            disturbed.append(run(job))
            taken.append(snapshot.result())
    without, with_snapshot = ({kind: percentiles_of(some, kind) for kind in kinds} for some in (quiet, disturbed))
    return Stalls(without, with_snapshot, taken)


def measure_many(folder: Path, sizes: Sizes) -> ManyTenants:
    with Measured(folder, memory_budget_bytes=BUDGET, auto_create_tenants=False).running() as service:
        copies = Copies(service, sizes.tenant_features)
        copies.make(range(sizes.tenants))
        service.restart()
        empty = resident_bytes(service.pid)
        names = map(copies.name, range(sizes.tenants))
        asked = zip(names, cycle(traffic.examples(100)))  # as long as the first
        requests = [Request(traffic.predict(features, name, traffic.NOT_KEPT)) for name, features in asked]
        loading = percentiles_of([run(ClosedLoop(port=service.port, requests=requests))])
        return ManyTenants(resident_bytes(service.pid), empty, loading)
