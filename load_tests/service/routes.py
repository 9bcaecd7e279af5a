"""Every route under load, in turns with the limit."""

import time
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from load_tests.harness import traffic
from load_tests.harness.client import run
from load_tests.harness.jobs import ClosedLoop, Percentiles, Request, percentiles_of
from load_tests.harness.processes import Server, Service, limit_server, processor_seconds
from load_tests.harness.sizes import BATCH, BATCH_CONNECTIONS, CONNECTIONS, EXAMPLES, Sizes
from tests.servers import valkey_server, wait_until

LINES = 500  # of an NDJSON request: longer than a batch, short enough to count answers within a load
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
LOCAL_FEEDBACK = "/feedback, durable, beside a separate store"
REPLICATED_FEEDBACK = "/feedback, replicated"


@dataclass(frozen=True, slots=True)
class Load:
    """A job for a server, and how many items an answer stands for."""

    server: Server
    job: ClosedLoop
    items: int = 1


@dataclass(frozen=True, slots=True)
class Measured:
    """One run: items per second, latencies, and busy cores of each side."""

    rate: float
    latency: Percentiles
    server: float
    store: float
    client: float

    @property
    def p99(self) -> float:
        return self.latency.p99

    @property
    def server_microseconds(self) -> float:
        """Processor time of the server per item: other load on the machine disturbs it less than a rate."""
        return 1e6 * self.server / self.rate


Series = list[Measured]  # the same load in every round


def middle(series: Series, figure: str) -> float:
    return median(float(getattr(each, figure)) for each in series)


def latency(series: Series) -> Percentiles:
    """Medians of the rounds, and the worst of all."""
    found = [each.latency for each in series]
    p50, p99, p999 = (median(getattr(each, name) for each in found) for name in ("p50", "p99", "p999"))
    return Percentiles(p50, p99, p999, max(each.worst for each in found))


def ratio(ours: Series, theirs: Series, figure: str = "rate") -> float:
    """The ratio of a figure, round by round, so that a noisy minute affects both."""
    pairs = zip(ours, theirs, strict=True)
    return median(float(getattr(one, figure)) / float(getattr(other, figure)) for one, other in pairs)


def compare(folder: Path, sizes: Sizes) -> dict[str, Series]:
    with limit_server(folder) as limit, Service(folder / "routes").running() as service:
        loads = _loads(limit, service, sizes.load_seconds)
        for tenant in ("asked", "taught"):
            taught = traffic.feedback_batches(traffic.examples(EXAMPLES), tenant, 500)
            run(ClosedLoop(port=service.port, requests=taught, marks=0))
        time.sleep(SETTLE_SECONDS)
        found: dict[str, Series] = {name: [] for name in loads}
        for _ in range(sizes.rounds):
            for name, load in loads.items():
                with service.frozen_store() if name == FROZEN else nullcontext():
                    found[name].append(measure(load))
                if name in {FROZEN, FEEDBACK, FEEDBACK_BATCH}:
                    time.sleep(SETTLE_SECONDS)
                    service.is_ready()
        return found


def compare_durability(folder: Path, sizes: Sizes) -> dict[str, Series]:
    """Feedback on a primary with one replica on this machine, acknowledged at each level, in turns."""
    feedbacks = traffic.feedbacks(traffic.examples(EXAMPLES), "taught")
    with valkey_server(folder / "primary") as primary:
        follow = ("--replicaof", f"127.0.0.1 {primary.port}")
        with (
            valkey_server(folder / "replica", *follow) as replica,
            Service(folder / "local", redis_url=primary.url).running() as local,
            Service(folder / "replicated", redis_url=primary.url, durability="replicated").start() as replicated,
        ):
            wait_until(lambda: replica.ask("ROLE")[3] == b"connected", "the replica does not follow")
            # Until its first append-only file is written, a replica reports nothing as synced.
            wait_until(lambda: not replica.client().info("persistence")["aof_rewrite_in_progress"], "no file yet")
            replicated.is_ready()
            found: dict[str, Series] = {LOCAL_FEEDBACK: [], REPLICATED_FEEDBACK: []}
            for _ in range(sizes.rounds):
                for series, service in zip(found.values(), (local, replicated), strict=True):
                    loop = ClosedLoop(
                        port=service.port,
                        requests=feedbacks,
                        connections=CONNECTIONS,
                        seconds=sizes.load_seconds,
                        marks=1,
                    )
                    series.append(measure(Load(service, loop)))
                    time.sleep(SETTLE_SECONDS)
            return found


def measure(load: Load) -> Measured:
    store_pid = load.server.valkey_pid if isinstance(load.server, Service) else None
    pids = [load.server.pid, *([store_pid] if store_pid else [])]
    before = [processor_seconds(pid) for pid in pids]
    found = run(load.job)
    server, *store = (processor_seconds(pid) - used for pid, used in zip(pids, before, strict=True))
    seconds = found.all_seconds
    return Measured(
        rate=found.answers * load.items / found.seconds,
        latency=percentiles_of([found]),
        server=server / seconds,
        store=sum(store) / seconds,
        client=found.processor_seconds / seconds,
    )


def _loads(limit: Server, service: Service, seconds: float) -> dict[str, Load]:
    def single(server: Server, requests: list[Request], connections: int = CONNECTIONS, items: int = 1) -> Load:
        loop = ClosedLoop(port=server.port, requests=requests, connections=connections, seconds=seconds, marks=items)
        return Load(server, loop, items)

    def batches(requests: list[Request], items: int = BATCH) -> Load:
        return single(service, requests, BATCH_CONNECTIONS, items)

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
        PREDICT_STREAM: batches(traffic.predict_streams(short, "asked", LINES), LINES),
        FEEDBACK: single(service, traffic.feedbacks(short, "taught")),
        FEEDBACK_BATCH: batches(traffic.feedback_batches(short, "taught", BATCH)),
        FROZEN: single(service, predicts),
    }
