"""Memory over time, whether it grows, and progress."""

import asyncio
import time
from dataclasses import dataclass, field
from itertools import count
from statistics import median

from load_tests.harness.processes import resident_bytes
from load_tests.harness.report import say
from load_tests.soak.client import Ledger
from load_tests.soak.deployment import Deployment
from tests.services import Service

SAMPLE_SECONDS = 1.0
REPORT_SAMPLES = 10
WARM_UP_SECONDS = 60.0  # tenants are loaded with their first request, and the heap finds its size
LEAST_SECONDS = 240.0  # after that: a shorter period says nothing
MIB = 2**20


@dataclass(frozen=True, slots=True)
class Sample:
    """Memory at a time, and how many labels had been acknowledged by then."""

    at: float
    bytes: float
    labels: float = 0


@dataclass(slots=True)
class Period:
    """A process from one start to the next stop."""

    name: str
    began: float
    samples: list[Sample] = field(default_factory=list)

    def early_and_late(self) -> tuple[Sample, Sample] | None:
        """The first and the last third after the warm-up, by medians, so without peaks; None if too short."""
        samples = [sample for sample in self.samples if sample.at >= self.began + WARM_UP_SECONDS]
        if not samples or (seconds := samples[-1].at - samples[0].at) < LEAST_SECONDS:
            return None
        early = [sample for sample in samples if sample.at <= samples[0].at + seconds / 3.0]
        late = [sample for sample in samples if sample.at >= samples[-1].at - seconds / 3.0]
        return _median(early), _median(late)


def _median(samples: list[Sample]) -> Sample:
    return Sample(*(median(getattr(sample, name) for sample in samples) for name in ("at", "bytes", "labels")))


class Watch:
    """Samples the memory of every process, and reports progress."""

    def __init__(self, deployment: Deployment, ledger: Ledger) -> None:
        self.periods: list[Period] = []  # of services
        self.store = Period("store", time.monotonic())  # replaced after the last disturbance: a replica makes it copy
        self._deployment = deployment
        self._ledger = ledger
        self._running: dict[str, Period] = {}
        for node in deployment.nodes:
            self.begin(node)

    def begin(self, node: Service) -> None:
        self._running[node.folder.name] = Period(node.folder.name, time.monotonic())
        self.periods.append(self._running[node.folder.name])

    def end(self, node: Service) -> None:
        del self._running[node.folder.name]

    async def run(self) -> None:
        ledger, before = self._ledger, 0
        for number in count():
            await self._sample()
            if number % REPORT_SAMPLES == 0:
                periods = [*(self._running.get(node.folder.name) for node in self._deployment.nodes), self.store]
                memory = (f"{each.samples[-1].bytes / MIB:.0f}" if each and each.samples else "-" for each in periods)
                say(
                    f"{ledger.requests - before:,} requests more; {len(ledger.acknowledged):,} labels acknowledged; "
                    f"{ledger.passed_on.total():,} passed on; MiB of services and store: {', '.join(memory)}"
                )
                before = ledger.requests
            await asyncio.sleep(SAMPLE_SECONDS)

    async def _sample(self) -> None:
        now, labels = time.monotonic(), len(self._ledger.acknowledged)
        for node in self._deployment.nodes:
            if (period := self._running.get(node.folder.name)) is not None:
                if node.process is None or node.process.poll() is not None:
                    raise RuntimeError(f"{node.folder.name} has ended: {node.log()[-800:]}")
                period.samples.append(Sample(now, resident_bytes(node.pid), labels))
        if (used := await asyncio.to_thread(self._deployment.store_bytes)) is not None:
            self.store.samples.append(Sample(now, used, labels))
