"""The real inputs: where they are, and how they become a stream. Featurized streams live in memory only."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from app.datasets.batch import Batch
from app.datasets.errors import LineErrors
from app.datasets.mails.corpus import open_mails
from app.datasets.reader import read
from app.datasets.source import Observer, open_source
from app.features.featurizer import Kind
from kernels.examples.canonical import canonical_batch
from load_tests.quality.stream import Stream

DATA = Path(os.environ.get("SLUICE_DATA", Path(__file__).parents[3] / "shared" / "data"))
NO_BIAS = np.uint64(0)


@dataclass(frozen=True, slots=True)
class Source:
    """A file, and the streams that are beginnings of it: their names and lengths."""

    file: str
    kind: Kind
    streams: dict[str, int]

    @property
    def path(self) -> Path:
        """Where it is."""
        return DATA / self.file

    @property
    def examples(self) -> int:
        """Those of the longest stream."""
        return max(self.streams.values())


PHISHSTORM = "phishstorm"
PDD = "pdd"
PHISHTANK = "phishtank-lobsters"
JPCERT = "jpcert-lobsters"
TREC = "trec07p 1-25,000"
TREC_BEGINNING = "trec07p 1-10,000"
SOURCES = (
    Source("urls/phishstorm.tsv.xz", "url", {PHISHSTORM: 96_018}),
    Source("urls/pdd.tsv.xz", "url", {PDD: 54_763}),
    Source("urls/phishtank-lobsters-2018-10_2019-10.tsv.xz", "url", {PHISHTANK: 170_338}),
    Source("urls/jpcert-lobsters-2019_2021.tsv.xz", "url", {JPCERT: 121_433}),
    Source("email/trec07p-1-25000.tar.xz", "email", {TREC: 25_000, TREC_BEGINNING: 10_000}),
)
STREAMS = tuple(name for source in SOURCES for name in source.streams)
BY_TIME = (PHISHTANK, JPCERT)


def absent() -> list[Path]:
    """Files that the benchmark needs and that are not there."""
    return [source.path for source in SOURCES if not source.path.exists()]


def load(source: Source, limit: int) -> Stream:
    """The first examples of a file, turned into features and scaled to length 1."""
    batches = list(_batches(source.path, limit))
    keys = np.concatenate([batch.keys for batch in batches])
    values = np.concatenate([batch.values for batch in batches])
    labels = np.concatenate([batch.labels for batch in batches])
    lengths = np.concatenate([np.diff(batch.starts) for batch in batches])
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Stream(*canonical_batch(starts, keys, values, True, NO_BIAS), labels)  # noqa: FBT003


def load_raw(source: Source, limit: int) -> Stream:
    """The first mails of an archive as they are."""
    with open_mails(source.path, LineErrors(source.file), Observer()) as mails:
        found = list(islice(mails, limit))
    labels = np.array([mail.label for mail in found])
    starts = np.zeros(len(found) + 1, np.int64)
    return Stream(starts, np.empty(0, np.uint64), np.empty(0), labels, [mail.raw for mail in found])


def urls(source: Source, limit: int) -> list[str]:
    """The first URLs of a list as they are."""
    with open_source(source.path) as file:
        lines = b"".join(iter(lambda: file.read(1 << 20), b"")).decode().splitlines()
    return [line.rpartition("\t")[2] for line in lines[:limit]]


def _batches(path: Path, limit: int) -> Iterator[Batch]:
    left = limit
    for batch in read(path):
        yield next(batch.split(left))
        left -= len(batch)
        if left <= 0:
            return
