"""Every route under load, in turns with the limit."""

import time
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from load_tests.harness import traffic
from load_tests.harness.client import call, run
from load_tests.harness.jobs import ClosedLoop, Job, NdjsonStream, Percentiles, Request, percentiles
from load_tests.harness.processes import Server, Service, ended, limit_server, processor_seconds
from load_tests.harness.sizes import BATCH, BATCH_CONNECTIONS, CONNECTIONS, EXAMPLES, Sizes

SETTLE_SECONDS = 1.5  # after feedback: a snapshot may be due, which must not slow the next load

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


@dataclass(frozen=True, slots=True)
class Load:
    """A job for a server, and how many items an answer stands for."""

    server: Server
    job: Job
    items: int = 1


@dataclass(frozen=True, slots=True)
class Measured:
    """One run: items per second, latencies, and busy cores of each side."""

    rate: float
    latency: Percentiles | None  # None for a stream, which is one long answer
    server: float
    store: float
    client: float


@dataclass(frozen=True, slots=True)
class Series:
    """The same load in every round."""

    rounds: list[Measured]

    def median(self, name: str) -> float:
        """The median of one figure of the rounds."""
        return median(float(getattr(each, name)) for each in self.rounds)

    @property
    def latency(self) -> Percentiles | None:
        """Medians of the rounds, and the worst of all."""
        found = [each.latency for each in self.rounds if each.latency is not None]
        if not found:
            return None
        p50, p99, p999 = (median(getattr(each, name) for each in found) for name in ("p50", "p99", "p999"))
        return Percentiles(p50, p99, p999, max(each.worst for each in found))

    @property
    def server_microseconds(self) -> float:
        """Processor time of the server per item: other load on the machine disturbs it less than a rate."""
        return median(1e6 * each.server / each.rate for each in self.rounds)

    def rate_beside(self, other: "Series") -> float:
        """The ratio of the rates, round by round, so that a noisy minute affects both."""
        return median(ours.rate / theirs.rate for ours, theirs in zip(self.rounds, other.rounds, strict=True))

    def p99_beside(self, other: "Series") -> float:
        """The ratio of the p99, round by round."""
        pairs = zip(self.rounds, other.rounds, strict=True)
        return median(
            ours.latency.p99 / theirs.latency.p99 for ours, theirs in pairs if ours.latency and theirs.latency
        )


def compare(folder: Path, sizes: Sizes) -> dict[str, Series]:
    """Run every load once in every round."""
    with ended(limit_server(folder).start()) as limit, ended(Service(folder / "routes").start()) as service:
        limit.wait_for("POST", "/predict", b"{}")
        service.is_ready()
        loads = _loads(limit, service, sizes.load_seconds)
        for tenant in ("asked", "taught"):
            for request in traffic.feedback_batches(traffic.examples(EXAMPLES), tenant, 500):
                call(service.port, "POST", "/feedback/batch", request.body)
        time.sleep(SETTLE_SECONDS)
        found: dict[str, list[Measured]] = {name: [] for name in loads}
        for _ in range(sizes.rounds):
            for name, load in loads.items():
                with service.frozen_store() if name == FROZEN else nullcontext():
                    found[name].append(measure(load))
                if name in {FROZEN, FEEDBACK, FEEDBACK_BATCH}:
                    time.sleep(SETTLE_SECONDS)
                    service.is_ready()
    return {name: Series(rounds) for name, rounds in found.items()}


def measure(load: Load) -> Measured:
    """Run a load once."""
    store_pid = load.server.valkey_pid if isinstance(load.server, Service) else None
    pids = [load.server.pid, *([store_pid] if store_pid else [])]
    before = [processor_seconds(pid) for pid in pids]
    found = run(load.job)
    server, *store = (processor_seconds(pid) - used for pid, used in zip(pids, before, strict=True))
    latencies, seconds = found.latencies(), found.all_seconds
    return Measured(
        rate=found.answers * load.items / found.seconds,
        latency=percentiles(latencies) if latencies.size else None,
        server=server / seconds,
        store=sum(store) / seconds,
        client=found.processor_seconds / seconds,
    )


def _loads(limit: Server, service: Service, seconds: float) -> dict[str, Load]:
    def single(server: Server, requests: list[Request], connections: int = CONNECTIONS, items: int = 1) -> Load:
        loop = ClosedLoop(port=server.port, requests=requests, connections=connections, seconds=seconds, marks=items)
        return Load(server, loop, items)

    def batches(requests: list[Request]) -> Load:
        return single(service, requests, BATCH_CONNECTIONS, BATCH)

    head, blocks = traffic.predict_stream(traffic.examples(EXAMPLES), "asked", BATCH)
    stream = NdjsonStream(port=service.port, head=head, blocks=blocks, connections=BATCH_CONNECTIONS, seconds=seconds)
    short = traffic.examples(EXAMPLES)
    predicts = traffic.predicts(short, "asked")
    long = traffic.predicts(traffic.examples(EXAMPLES, values=traffic.long_values), "asked")
    return {
        LIMIT: single(limit, predicts),
        PREDICT: single(service, predicts),
        NOT_KEPT: single(service, traffic.predicts(short, "asked", traffic.NOT_KEPT)),
        LONG_LIMIT: single(limit, long),
        LONG_PREDICT: single(service, long),
        PREDICT_BATCH: batches(traffic.predict_batches(short, "asked", BATCH)),
        BATCH_NOT_KEPT: batches(traffic.predict_batches(short, "asked", BATCH, traffic.NOT_KEPT)),
        PREDICT_STREAM: Load(service, stream),
        FEEDBACK: single(service, traffic.feedbacks(short, "taught")),
        FEEDBACK_BATCH: batches(traffic.feedback_batches(short, "taught", BATCH)),
        FROZEN: single(service, predicts),
    }
