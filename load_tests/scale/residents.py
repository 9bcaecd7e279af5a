"""Tenants of several sizes: what each takes in memory, to load, and to write a snapshot of."""

from pathlib import Path

import msgspec

from load_tests.harness import traffic
from load_tests.harness.client import call as ask_well
from load_tests.harness.processes import Service, ended, resident_bytes
from load_tests.scale.copies import Copies
from load_tests.scale.requests import NEVER, body, feedback
from load_tests.scale.results import ResidentsFound
from load_tests.scale.sizes import Sizes
from load_tests.scale.watching import Setup, store_bytes

SNAPSHOTS = 200  # tenants that learn one label each


def measure(folder: Path, sizes: Sizes) -> list[ResidentsFound]:
    """Each size in a service of its own."""
    return [_measured(folder / str(features), features, tenants) for features, tenants in sizes.residents]


def _measured(folder: Path, features: int, tenants: int) -> ResidentsFound:
    service = Service(folder, auto_create_tenants=False, **NEVER)
    with ended(service.start()):
        service.is_ready()
        before, copies = store_bytes(service), Copies(service, features)
        copies.make(range(tenants))
        stored = store_bytes(service) - before
        service.kill()  # what importing took is no memory of the tenants
        service.start()
        service.is_ready()
        empty = resident_bytes(service.pid)
        work, latencies = copies.load(tenants, connections=1)
        resident = resident_bytes(service.pid) - empty
        microseconds, written = _snapshots(copies, min(tenants, SNAPSHOTS))
    return ResidentsFound(
        features=features,
        tenants=tenants,
        resident_bytes=resident / tenants,
        store_bytes=stored / tenants,
        load_microseconds=1e6 * work.workers / tenants,
        load_store_microseconds=1e6 * work.store / tenants,
        load_p50=latencies.p50,
        load_p99=latencies.p99,
        snapshot_microseconds=microseconds,
        snapshot_bytes=written,
    )


def _snapshots(copies: Copies, tenants: int) -> tuple[float, float]:
    """Processor time of one, after one label each; and the bytes that it wrote."""
    service, examples = copies.service, traffic.examples(tenants, max(copies.features, traffic.FEATURES))
    names = [copies.name(number) for number in range(tenants)]
    for name, features in zip(names, examples, strict=True):
        ask_well(service.port, "POST", "/feedback", body(feedback(name, features, 1)))
    before, written = Setup(service).work(), 0
    for name in names:
        written += msgspec.json.decode(ask_well(service.port, "POST", f"/tenants/{name}/snapshot"))["bytes"]
    return 1e6 * Setup(service).work().since(before).workers / tenants, written / tenants
