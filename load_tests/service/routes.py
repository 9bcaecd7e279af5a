"""Every route under load, in turns with the limit."""

import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from load_tests.harness import traffic
from load_tests.harness.client import call as ask_well
from load_tests.harness.jobs import ClosedLoop, Request, Streaming
from load_tests.harness.processes import Server, Service, ended, limit_server
from load_tests.service.runs import Load, Measured, Series, measure
from load_tests.service.sizes import Sizes

CONNECTIONS = 32
BATCH = 100
BATCH_CONNECTIONS = 8
EXAMPLES = 2000
SETTLE_SECONDS = 1.5  # after feedback: a snapshot may be due, which belongs to that and not to what comes next

NO_KEEPING = b',"keep":false'

LIMIT = "the limit"
PREDICT = "/predict"
NOT_KEPT = "/predict, keep=false"
FROZEN = "/predict while the store hangs"
LONG_LIMIT = "the limit, values of 17 digits"
LONG_PREDICT = "/predict, values of 17 digits"
PREDICT_BATCH = "/predict/batch of 100"
BATCH_NOT_KEPT = "/predict/batch of 100, keep=false"
PREDICT_STREAM = "/predict/batch as NDJSON"
FEEDBACK = "/feedback, durable"
FEEDBACK_BATCH = "/feedback/batch of 100, durable"


def compare(folder: Path, sizes: Sizes) -> dict[str, Series]:
    """Every load once in every round."""
    with ended(limit_server(folder).start()) as limit, ended(Service(folder / "routes").start()) as service:
        limit.wait_for("POST", "/predict", b"{}")
        service.is_ready()
        loads = _loads(limit, service, sizes.route_seconds)
        _teach(service)
        found: dict[str, list[Measured]] = {name: [] for name in loads}
        for _ in range(sizes.rounds):
            for name, load in loads.items():
                found[name].append(_measured(name, load, service))
    return {name: Series(rounds) for name, rounds in found.items()}


def _measured(name: str, load: Load, service: Service) -> Measured:
    with service.frozen_store() if name == FROZEN else nullcontext():
        measured = measure(load)
    if name in {FROZEN, FEEDBACK, FEEDBACK_BATCH}:
        time.sleep(SETTLE_SECONDS)
        service.is_ready()
    return measured


def _teach(service: Service) -> None:
    """Let the tenants know most of what they will be asked."""
    for tenant in ("asked", "taught"):
        for request in traffic.feedback_batches(traffic.examples(EXAMPLES), tenant, 500):
            ask_well(service.port, "POST", "/feedback/batch", request.head.partition(b"\r\n\r\n")[2])
    time.sleep(SETTLE_SECONDS)


def _loads(limit: Server, service: Service, seconds: float) -> dict[str, Load]:
    short = traffic.examples(EXAMPLES)
    long = traffic.examples(EXAMPLES, values=traffic.long_values)
    asked = traffic.predicts(short, "asked")
    return {
        LIMIT: _closed(limit, asked, seconds),
        PREDICT: _closed(service, asked, seconds),
        NOT_KEPT: _closed(service, traffic.predicts(short, "asked", NO_KEEPING), seconds),
        LONG_LIMIT: _closed(limit, traffic.predicts(long, "asked"), seconds),
        LONG_PREDICT: _closed(service, traffic.predicts(long, "asked"), seconds),
        PREDICT_BATCH: _batches(service, traffic.predict_batches(short, "asked", BATCH), seconds),
        BATCH_NOT_KEPT: _batches(service, traffic.predict_batches(short, "asked", BATCH, NO_KEEPING), seconds),
        PREDICT_STREAM: _stream(service, short, seconds),
        FEEDBACK: _closed(service, traffic.feedbacks(short, "taught"), seconds),
        FEEDBACK_BATCH: _batches(service, traffic.feedback_batches(short, "taught", BATCH), seconds),
        FROZEN: _closed(service, asked, seconds),
    }


def _closed(server: Server, requests: list[Request], seconds: float) -> Load:
    return Load(server, ClosedLoop(port=server.port, requests=requests, connections=CONNECTIONS, seconds=seconds))


def _batches(server: Server, requests: list[Request], seconds: float) -> Load:
    job = ClosedLoop(port=server.port, requests=requests, connections=BATCH_CONNECTIONS, seconds=seconds, marks=BATCH)
    return Load(server, job, items=BATCH)


def _stream(server: Server, examples: Sequence[bytes], seconds: float) -> Load:
    head, blocks = traffic.predict_stream(examples, "asked", BATCH)
    job = Streaming(port=server.port, head=head, blocks=blocks, connections=BATCH_CONNECTIONS, seconds=seconds)
    return Load(server, job)
