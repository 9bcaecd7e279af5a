"""Jobs of the client and their results, passed between processes as msgpack."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np

from kernels.arrays import Floats

Wire = Literal["http", "lines", "programs"]
Verdict = Literal["", "label", "predicted", "sign", "bayes", "probability"]

UNIQUE_BYTES = 20


class Request(msgspec.Struct, frozen=True, array_like=True):
    """The bytes of a request. With a tail, the client inserts a unique id before it: a feedback_id."""

    head: bytes
    tail: bytes = b""
    kind: str = ""  # the series that its latency belongs to
    judged: bool = False  # whether its answer holds the verdicts that count, those before learning

    @property
    def body(self) -> bytes:
        """The body of a request without a tail."""
        return self.head.partition(b"\r\n\r\n")[2]


class ClosedLoop(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """Each connection sends a request, waits for the answer, and sends the next: measures throughput and latency."""

    requests: list[Request]
    port: int = 0
    connections: int = 1
    seconds: float = 0.0  # 0: until each request was sent once, in order
    warm_up_seconds: float = 0.3
    mark: bytes = b'"score":'
    marks: int = 1  # an answer with another number of marks is an error; 0: not checked
    wire: Wire = "http"
    verdict: Verdict = ""  # how answers state verdicts
    folder: str = ""  # where programs run


class ConstantRate(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """Each kind of request at a constant rate, whether answers come or not: measures the slowest answers."""

    port: int
    kinds: dict[str, list[Request]]
    per_second: float
    seconds: float
    connections: int = 16  # of each kind
    mark: bytes = b'"score":'


Job = ClosedLoop | ConstantRate


class Done(msgspec.Struct, frozen=True):
    """Answers within the measured time, and the client's own use of the processor."""

    answers: int
    seconds: float
    all_seconds: float  # with the warm-up
    processor_seconds: float  # of the client, in all_seconds
    kinds: dict[str, list[float]]  # latencies in seconds, in the order of the answers
    verdicts: bytes = b""  # 1 for an anomaly, 0 for normal, in the order of the answers
    sent: dict[str, list[float]] = {}  # at a constant rate: when, by time.monotonic, in the order of the answers

    def latencies(self, kind: str = "") -> Floats:
        return np.array(self.kinds.get(kind, []))

    def latencies_between(self, begin: float, end: float, kind: str = "") -> Floats:
        """Latencies of the requests that were sent in this time, by time.monotonic."""
        sent = np.array(self.sent.get(kind, []))
        return self.latencies(kind)[(begin <= sent) & (sent < end)]


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Latencies in milliseconds."""

    p50: float
    p99: float
    p999: float
    worst: float

    def __str__(self) -> str:
        return f"p50 {self.p50:.1f} ms, p99 {self.p99:.1f} ms, worst {self.worst:.1f} ms"


def percentiles(seconds: Floats) -> Percentiles:
    return Percentiles(*np.percentile(1e3 * seconds, [50, 99, 99.9, 100]).tolist())


def percentiles_of(runs: Iterable[Done], kind: str = "") -> Percentiles:
    return percentiles(np.concatenate([each.latencies(kind) for each in runs]))
