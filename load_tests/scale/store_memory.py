"""What tenants, kept predictions and long logs take: memory, loads, snapshots and restarts."""

import socket
import time
from itertools import cycle, islice
from pathlib import Path

import msgspec

from load_tests.harness.processes import resident_bytes
from load_tests.harness.sizes import CONNECTIONS, Sizes
from load_tests.harness.traffic import FEATURES, NOT_KEPT, examples, feedback, feedback_batches, predict
from load_tests.scale.load import EXAMPLES, SHORT, Copies, Measured, body
from load_tests.scale.results import Figure, KeptFound, ResidentsFound, TailFound

SNAPSHOTS = 200  # tenants that learn one label each
WRITTEN_SECONDS = 1.0  # predictions are written after the answers
TAIL_TENANT, TAIL_FEATURES = "restarted", 100_000
TAIL_EXAMPLES = 2500  # each comes with either label
BATCH = 500


def measure_residents(folder: Path, sizes: Sizes) -> list[ResidentsFound]:
    """Tenants of every size, each size in a service of its own."""
    return [_residents(folder / str(features), features, tenants) for features, tenants in sizes.residents]


def _residents(folder: Path, features: int, tenants: int) -> ResidentsFound:
    with Measured(folder, auto_create_tenants=False).running() as service:
        before, copies = service.store_bytes(), Copies(service, features)
        copies.make(range(tenants))
        stored = service.store_bytes() - before
        service.restart()  # what the import took is no memory of the tenants
        empty, start = resident_bytes(service.pid), service.work()
        latencies = copies.load(tenants, connections=1)
        used, resident = service.work().since(start), resident_bytes(service.pid) - empty
        snapshot_seconds, written = _snapshots(copies, min(tenants, SNAPSHOTS))
    return ResidentsFound(
        features=features,
        tenants=tenants,
        resident_bytes=resident / tenants,
        store_bytes=stored / tenants,
        load_microseconds=1e6 * used.workers / tenants,
        load_store_microseconds=1e6 * used.store / tenants,
        load_p50=latencies.p50,
        load_p99=latencies.p99,
        snapshot_microseconds=1e6 * snapshot_seconds,
        snapshot_bytes=written,
    )


def _snapshots(copies: Copies, tenants: int) -> tuple[float, float]:
    """Processor seconds and bytes of a snapshot after one label."""
    service, names = copies.service, [copies.name(number) for number in range(tenants)]
    for name, features in zip(names, examples(tenants, max(copies.features, FEATURES)), strict=True):
        service.call("POST", "/feedback", body(feedback(features, name, 1)))
    before = service.work()
    answers = [service.call("POST", f"/tenants/{name}/snapshot") for name in names]
    seconds = service.work().since(before).workers
    return seconds / tenants, sum(msgspec.json.decode(answer)["bytes"] for answer in answers) / tenants


def measure_kept(folder: Path, sizes: Sizes) -> KeptFound:
    """Predictions of one tenant, and as many of as many tenants."""
    together, apart = ["together"] * sizes.kept, [f"apart-{number}" for number in range(sizes.kept)]
    with Measured(folder).running() as service:
        _bytes_of_each(service, together[:1], NOT_KEPT)
        tenant = _bytes_of_each(service, apart, NOT_KEPT)
        each_together, each_apart = _bytes_of_each(service, together), _bytes_of_each(service, apart)
        requests = [predict(features, together[0]) for features in examples(EXAMPLES)]
        with socket.create_connection(("127.0.0.1", service.port)) as connection:
            connection.sendall(requests[0])
            answer = len(connection.recv(1 << 16))  # so short that it comes in one piece
    return KeptFound(sum(map(len, requests)) // EXAMPLES, answer, each_together, each_apart, tenant)


def _bytes_of_each(service: Measured, tenants: list[str], more: bytes = b"") -> float:
    """Send each tenant a prediction; what the store then uses more for each."""
    before, some = service.store_bytes(), examples(EXAMPLES)
    requests = [predict(some[k % EXAMPLES], tenant, more) for k, tenant in enumerate(tenants)]
    service.send(requests, min(CONNECTIONS, len(tenants)))
    time.sleep(WRITTEN_SECONDS)
    return (service.store_bytes() - before) / len(tenants)


def measure_tails(folder: Path, sizes: Sizes) -> list[TailFound]:
    """Restarts of one tenant whose log grows, with no snapshot but that of the import."""
    some = feedback_batches(examples(TAIL_EXAMPLES, TAIL_FEATURES), TAIL_TENANT, BATCH)
    batches = cycle([request.body for request in some])
    first, found = body(predict(SHORT, TAIL_TENANT)), []
    with Measured(folder).running() as service:
        service.import_model(TAIL_TENANT, TAIL_FEATURES)
        for before, events in zip((0, *sizes.tails), sizes.tails, strict=False):
            for batch in islice(batches, (events - before) // BATCH):
                service.call("POST", "/feedback/batch", batch)
            used, ready, answered = service.store_bytes(), [], []
            for _ in range(sizes.repeats):
                ready.append(service.restart())
                start = time.perf_counter()
                service.call("POST", "/predict", first)
                answered.append(ready[-1] + time.perf_counter() - start)
            found.append(TailFound(events, Figure(ready), Figure(answered), used))
    return found
