"""Memory over time, whether it grows, and progress."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from statistics import median

from load_tests.harness.processes import resident_bytes
from load_tests.harness.report import say
from load_tests.soak.client import Ledger
from load_tests.soak.deployment import Deployment, Node

SAMPLE_SECONDS = 1.0
REPORT_SAMPLES = 10
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
    """Samples the memory of every process, and reports progress."""

    def __init__(self, deployment: Deployment, ledger: Ledger) -> None:
        self.periods: list[Period] = []  # of services
        self.store = Period("store", time.monotonic())
        self._deployment = deployment
        self._ledger = ledger
        self._running: dict[str, Period] = {}
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

    async def run(self) -> None:
        """Sample every second until cancelled."""
        before = 0
        for number in count():
            await self._sample()
            if number % REPORT_SAMPLES == 0:
                self._report(self._ledger.requests - before)
                before = self._ledger.requests
            await asyncio.sleep(SAMPLE_SECONDS)

    async def _sample(self) -> None:
        now, labels = time.monotonic(), len(self._ledger.acknowledged)
        for node in self._deployment.nodes:
            if (period := self._running.get(node.name)) is not None:
                node.check_alive()
                period.samples.append(Sample(now, resident_bytes(node.pid), labels))
        if (used := await asyncio.to_thread(self._deployment.store_bytes)) is not None:
            self.store.samples.append(Sample(now, used, labels))

    def _report(self, requests: int) -> None:
        periods = [*(self._running.get(node.name) for node in self._deployment.nodes), self.store]
        memory = ", ".join(f"{each.samples[-1].bytes / MIB:.0f}" if each and each.samples else "-" for each in periods)
        say(
            f"{requests:,} requests more; {len(self._ledger.acknowledged):,} labels acknowledged; passed on to another "
            f"service: {self._ledger.passed_on.total():,}; MiB of services and store: {memory}"
        )


async def until(holds: Callable[[], bool], seconds: float, otherwise: str = "") -> bool:
    """Wait until something holds. If it does not within this time: TimeoutError with a text, False without one."""
    deadline = time.monotonic() + seconds
    while not await asyncio.to_thread(holds):
        if time.monotonic() > deadline:
            if otherwise:
                raise TimeoutError(otherwise)
            return False
        await asyncio.sleep(PAUSE_SECONDS)
    return True
