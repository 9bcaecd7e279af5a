"""One load on one server, and what several of them say together."""

from dataclasses import dataclass
from statistics import median

import numpy as np

from load_tests.harness.client import run as done
from load_tests.harness.jobs import Job
from load_tests.harness.processes import Server, Service, processor_seconds


@dataclass(frozen=True, slots=True)
class Load:
    """What a server is asked, and how many items an answer stands for."""

    server: Server
    job: Job
    items: int = 1


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Of latencies, in milliseconds."""

    p50: float
    p99: float
    p999: float
    worst: float


@dataclass(frozen=True, slots=True)
class Cores:
    """How many were busy with what."""

    server: float
    store: float
    client: float


@dataclass(frozen=True, slots=True)
class Measured:
    """One run: items per second, how long answers took, and how many cores each side used."""

    rate: float
    latency: Percentiles | None  # None for a stream, which is one long answer
    cores: Cores


@dataclass(frozen=True, slots=True)
class Series:
    """The same load in every round."""

    rounds: list[Measured]

    @property
    def rate(self) -> float:
        """Items per second: the median of the rounds."""
        return median(each.rate for each in self.rounds)

    @property
    def latency(self) -> Percentiles | None:
        """Medians of the rounds; of the worst, the worst."""
        found = [each.latency for each in self.rounds if each.latency is not None]
        if not found:
            return None
        return Percentiles(
            p50=median(each.p50 for each in found),
            p99=median(each.p99 for each in found),
            p999=median(each.p999 for each in found),
            worst=max(each.worst for each in found),
        )

    @property
    def cores(self) -> Cores:
        """Medians of the rounds."""
        found = [each.cores for each in self.rounds]
        return Cores(*(median(getattr(each, name) for each in found) for name in ("server", "store", "client")))

    @property
    def server_microseconds(self) -> float:
        """Of processor time that an item takes in the server: what others on the machine do matters less to it."""
        return median(1e6 * each.cores.server / each.rate for each in self.rounds)

    def rate_beside(self, other: "Series") -> float:
        """How many times the other's rate; compared round by round, so that a noisy minute hits both."""
        return median(ours.rate / theirs.rate for ours, theirs in zip(self.rounds, other.rounds, strict=True))

    def p99_beside(self, other: "Series") -> float:
        """How many times the other's p99, round by round."""
        pairs = zip(self.rounds, other.rounds, strict=True)
        return median(
            ours.latency.p99 / theirs.latency.p99 for ours, theirs in pairs if ours.latency and theirs.latency
        )


def measure(load: Load) -> Measured:
    """Let the client do it once."""
    server, store = _processor_seconds(load.server)
    found = done(load.job)
    server_after, store_after = _processor_seconds(load.server)
    latencies, seconds = found.latencies(), found.all_seconds
    return Measured(
        rate=found.answers * load.items / found.seconds,
        latency=percentiles(latencies) if latencies.size else None,
        cores=Cores(
            (server_after - server) / seconds, (store_after - store) / seconds, found.processor_seconds / seconds
        ),
    )


def _processor_seconds(server: Server) -> tuple[float, float]:
    """Of the server and its store."""
    store = server.valkey_pid if isinstance(server, Service) else None
    return processor_seconds(server.pid), processor_seconds(store) if store else 0.0


def percentiles(seconds: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Percentiles:
    """In milliseconds."""
    found = np.percentile(1e3 * seconds, [50, 99, 99.9, 100]).tolist()
    return Percentiles(*found)
