"""GET /metrics: the metrics of this worker and of the other workers of the service, as Prometheus text."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence

from prometheus_client import CollectorRegistry, GCCollector, ProcessCollector, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.samples import Sample

from app.telemetry.counters import Telemetry
from app.telemetry.families import families
from app.telemetry.readings import WorkerReading
from app.telemetry.workers import WorkerGroup

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"
HELP = b"# HELP "

Read = Callable[[], Awaitable[WorkerReading]]


class Exposition:
    """Renders the metrics of one worker, and merges them with those of the others."""

    def __init__(self, telemetry: Telemetry, workers: WorkerGroup, read: Read) -> None:
        self._telemetry = telemetry
        self._workers = workers
        self._read = read
        self._runtime = Runtime()

    async def whole_page(self) -> bytes:
        """Return the metrics of all workers of the service."""
        own, others = await asyncio.gather(self.own_page(), self._workers.collect())
        workers = (
            GaugeMetricFamily("sluice_workers", "Workers that the service should have.", self._workers.size),
            GaugeMetricFamily("sluice_workers_answering", "Workers in this answer.", 1 + len(others)),
        )
        return merged([own, *others, text_of(workers)])

    async def own_page(self) -> bytes:
        """Return the metrics of this worker."""
        self._telemetry.tenants.elect()
        reading = await self._read()
        found = [*families(self._telemetry, reading), *self._runtime.families()]
        # In a thread: the text of a hundred tenants takes 20 ms.
        return await asyncio.to_thread(text_of, found, worker=str(self._workers.index))


class Runtime:
    """prometheus-client's own metrics of this process."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        GCCollector(registry=self._registry)

    def families(self) -> Iterable[Metric]:
        """Return memory, processor time, open files and garbage collections."""
        return self._registry.collect()


class _Collected:
    """Finished families in the form of a prometheus-client collector."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def text_of(families: Iterable[Metric], **labels: str) -> bytes:
    """Render metrics as text, with these labels on every sample."""
    return generate_latest(_Collected(_labelled(families, labels)))


def merged(pages: Sequence[bytes]) -> bytes:
    """Merge pages into one: each metric is described once, and has the samples of all pages."""
    blocks: dict[bytes, list[bytes]] = {}
    for page in pages:
        for head, samples in _blocks(page):
            blocks.setdefault(head, [head]).append(samples)
    return b"".join(b"".join(block) for block in blocks.values())


def _labelled(families: Iterable[Metric], labels: dict[str, str]) -> Iterator[Metric]:
    for family in families:
        copy = Metric(family.name, family.documentation, family.type, family.unit)
        copy.samples = [_with(sample, labels) for sample in family.samples]
        yield copy


def _with(sample: Sample, labels: dict[str, str]) -> Sample:
    return sample._replace(labels={**sample.labels, **labels})


def _blocks(page: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Split a page by metric: the HELP and TYPE lines, and the lines of its samples."""
    for block in page.split(HELP)[1:]:
        described, _, rest = block.partition(b"\n")
        kind, _, samples = rest.partition(b"\n")
        yield HELP + described + b"\n" + kind + b"\n", samples
