"""Waiting, while memory is sampled and progress is printed; and whether memory grows."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median

from load_tests.harness.processes import resident_bytes
from load_tests.harness.report import say
from load_tests.soak.deployment import Deployment, Node
from load_tests.soak.load import Load

SAMPLE_SECONDS = 1.0
REPORT_SECONDS = 10.0
PAUSE_SECONDS = 0.05
WARM_UP_SECONDS = 60.0  # tenants are loaded with their first request, and the heap finds its size
LEAST_SECONDS = 240.0  # after that: a shorter period says nothing
MIB = 2**20


@dataclass(frozen=True, slots=True)
class Sample:
    """Memory at a time, and how many labels had been acknowledged by then."""

    at: float
    bytes: int
    labels: int = 0


@dataclass(slots=True)
class Period:
    """A process from one start to the next stop."""

    name: str
    began: float
    samples: list[Sample] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Growth:
    """The first and the last third of a period, without its warm-up."""

    early: Sample
    late: Sample

    @property
    def ratio(self) -> float:
        """1 if nothing has grown."""
        return self.late.bytes / self.early.bytes

    @property
    def kib_per_label(self) -> float | None:
        """None without labels."""
        labels = self.late.labels - self.early.labels
        return (self.late.bytes - self.early.bytes) / 1024 / labels if labels else None


def growth(period: Period) -> Growth | None:
    """By medians, so that a snapshot's copy counts for nothing; None if the period was too short."""
    samples = [sample for sample in period.samples if sample.at >= period.began + WARM_UP_SECONDS]
    if not samples or samples[-1].at - samples[0].at < LEAST_SECONDS:
        return None
    third = (samples[-1].at - samples[0].at) / 3.0
    return Growth(
        _median([sample for sample in samples if sample.at <= samples[0].at + third]),
        _median([sample for sample in samples if sample.at >= samples[-1].at - third]),
    )


def _median(samples: Sequence[Sample]) -> Sample:
    at, used, labels = (median(getattr(each, name) for each in samples) for name in ("at", "bytes", "labels"))
    return Sample(at, int(used), int(labels))


class Watch:
    """The main thread of a run waits here."""

    def __init__(self, deployment: Deployment, load: Load) -> None:
        self.periods: list[Period] = []  # of services
        self.store = Period("store", time.monotonic())
        self._deployment = deployment
        self._load = load
        self._running: dict[str, Period] = {}
        self._sample_at = self._report_at = time.monotonic()
        self._reported = (self._report_at, 0)  # when, and how many requests there had been
        for node in deployment.nodes:
            self.begins(node)

    def begins(self, node: Node) -> None:
        """A service is ready."""
        self._running[node.name] = Period(node.name, time.monotonic())
        self.periods.append(self._running[node.name])

    def ends(self, node: Node) -> None:
        """A service is about to be stopped."""
        del self._running[node.name]

    def undisturbed(self) -> None:
        """From here on the store is judged: no replica or restart makes it copy its data."""
        self.store = Period("store", time.monotonic())

    def until(self, holds: Callable[[], bool], seconds: float) -> bool:
        """Wait until something holds; False if it does not within this time."""
        deadline = time.monotonic() + seconds
        while not holds():
            now = time.monotonic()
            if now > deadline:
                return False
            self._load.check()
            if now >= self._sample_at:
                self._sample_at = now + SAMPLE_SECONDS
                self._sample(now)
            if now >= self._report_at:
                self._report_at = now + REPORT_SECONDS
                self._report(now)
            time.sleep(PAUSE_SECONDS)
        return True

    def until_time(self, moment: float) -> None:
        """Wait."""
        self.until(lambda: time.monotonic() >= moment, max(moment - time.monotonic(), 0.0) + 1.0)

    def _sample(self, now: float) -> None:
        labels = len(self._load.ledger.acknowledged)
        for node in self._deployment.nodes:
            if (period := self._running.get(node.name)) is not None:
                node.check_alive()
                period.samples.append(Sample(now, resident_bytes(node.pid), labels))
        if (used := self._deployment.store_bytes()) is not None:
            self.store.samples.append(Sample(now, used, labels))

    def _report(self, now: float) -> None:
        ledger, (then, before) = self._load.ledger, self._reported
        self._reported = (now, ledger.requests)
        rate = (ledger.requests - before) / max(now - then, 1e-3)
        periods = [*(self._running.get(node.name) for node in self._deployment.nodes), self.store]
        memory = ", ".join(f"{each.samples[-1].bytes / MIB:.0f}" if each and each.samples else "-" for each in periods)
        say(
            f"{rate:.0f} requests/s; {len(ledger.acknowledged):,} labels acknowledged; passed on to another service: "
            f"{ledger.passed_on.total():,}; MiB of services and store: {memory}"
        )
