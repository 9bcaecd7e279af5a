"""GET /metrics as text: that of one worker, and those of all workers put together."""

from collections.abc import Iterable, Iterator, Sequence

from prometheus_client import CollectorRegistry, GCCollector, ProcessCollector, generate_latest
from prometheus_client.core import Metric
from prometheus_client.samples import Sample

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"
HELP = b"# HELP "


class Runtime:
    """What prometheus-client itself knows about this process."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        GCCollector(registry=self._registry)

    def families(self) -> Iterable[Metric]:
        """Memory, processor time, files; collections of garbage."""
        return self._registry.collect()


class _Given:
    """Families that are there already, as prometheus-client wants to have them."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def text_of(families: Iterable[Metric], **labels: str) -> bytes:
    """Metrics as text; every sample gets these labels."""
    return generate_latest(_Given(_labelled(families, labels)))


def merged(pages: Sequence[bytes]) -> bytes:
    """Several pages as one: each metric is described once, and has the samples of all pages."""
    blocks: dict[bytes, list[bytes]] = {}
    for page in pages:
        for head, samples in _blocks(page):
            blocks.setdefault(head, [head]).append(samples)
    return b"".join(b"".join(block) for block in blocks.values())


def _labelled(families: Iterable[Metric], labels: dict[str, str]) -> Iterator[Metric]:
    for family in families:
        made = Metric(family.name, family.documentation, family.type, family.unit)
        made.samples = [_with(sample, labels) for sample in family.samples]
        yield made


def _with(sample: Sample, labels: dict[str, str]) -> Sample:
    return sample._replace(labels={**sample.labels, **labels})


def _blocks(page: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The two lines that describe a metric, and the lines of its samples."""
    for block in page.split(HELP)[1:]:
        described, _, rest = block.partition(b"\n")
        kind, _, samples = rest.partition(b"\n")
        yield HELP + described + b"\n" + kind + b"\n", samples
