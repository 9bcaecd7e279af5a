"""A tenant with a million features: how soon it answers after a crash, and whether a snapshot of it holds others up."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from app.learning.events import FeedbackGiven
from app.learning.example import example_of
from app.learning.snapshot.model_file import dump
from app.learning.state import TenantState, apply
from load_tests.harness import traffic
from load_tests.harness.client import call as ask_well
from load_tests.harness.processes import Service, ended
from load_tests.service.sizes import Sizes

LARGE = "large"
NEVER_EVENTS, NEVER_SECONDS = 1_000_000_000, 31_536_000
FEATURES_PER_EVENT = 1000
TAIL_BATCH = 500
FIRST = traffic.predicts(traffic.examples(1), LARGE)[0].head.partition(b"\r\n\r\n")[2]


@contextmanager
def large_tenant(folder: Path, sizes: Sizes) -> Iterator[Service]:
    """A running service with the large tenant, which takes no snapshots by itself."""
    service = Service(folder, snapshot_every_events=NEVER_EVENTS, snapshot_every_seconds=NEVER_SECONDS)
    with ended(service.start()):
        service.is_ready()
        path = f"/tenants/{LARGE}/import"
        ask_well(service.port, "POST", path, model_file(range(sizes.features)), "application/octet-stream")
        _append_tail(service, sizes)
        yield service


def model_file(names: range) -> bytes:
    """A model that has learnt each of these features once, and knows its name."""
    state = TenantState()
    for k, start in enumerate(names[::FEATURES_PER_EVENT]):
        some = range(start, min(start + FEATURES_PER_EVENT, names.stop))
        apply(state, FeedbackGiven(example_of({traffic.name_of(number): 1.0 for number in some}), label=(1, -1)[k % 2]))
    return b"".join(dump(state))


def restart_seconds(service: Service, *, with_store: bool) -> float:
    """Kill the service, or its store too, and start it: from there to the first answer of the large tenant."""
    version = _version(service)
    service.kill()
    if with_store:
        service.kill_valkey()
    start = time.perf_counter()
    service.start()
    service.wait_for("POST", "/predict", FIRST)
    seconds = time.perf_counter() - start
    if _version(service) != version:
        raise RuntimeError(f"the tenant was at version {version} before the restart, and is at {_version(service)} now")
    return seconds


def empty_start_seconds(folder: Path) -> float:
    """From the start of the process to ready, with nothing there."""
    start = time.perf_counter()
    with ended(Service(folder).start()) as service:
        service.wait_for("GET", "/readyz")
        return time.perf_counter() - start


def _version(service: Service) -> int:
    version: int = msgspec.json.decode(ask_well(service.port, "POST", "/predict", FIRST))["version"]
    return version


def _append_tail(service: Service, sizes: Sizes) -> None:
    examples = traffic.examples(sizes.tail_events // 2, sizes.features)  # each comes with either label
    for request in traffic.feedback_batches(examples, LARGE, TAIL_BATCH):
        ask_well(service.port, "POST", "/feedback/batch", request.head.partition(b"\r\n\r\n")[2])
