"""Sets that are read from one or two files: LIBSVM, lists of URLs, ELEC2 and PCMAC."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from app.datasets.batch import Batch
from app.datasets.blocks import blocks
from app.datasets.formats import Format
from app.datasets.reader import read
from app.datasets.shuffle import shuffled
from app.datasets.source import open_source
from experiments.sets.source import Reader, Source, batch_of, first, located, numbered

SEED: Final = 1
ELEC2_FILE: Final = "drift/elec2.csv.xz"
# The file calls them feat_1 to feat_6. It has no date, which is as well: a date only ever grows, so that a learner
# could tell the past from it, but never the future.
ELEC2_NAMES: Final = ("period", "nswprice", "nswdemand", "vicprice", "vicdemand", "transfer")
ELEC2_BLOCK_BYTES: Final = 1 << 18
PCMAC_FILE: Final = "sparse/PCMAC.mat"
PCMAC_BATCH: Final = 500  # examples


def given(name: str, *paths: str | Path) -> Source:
    """Return the user's LIBSVM files, plain or compressed; they are neither held in memory nor shuffled."""
    return _listed(name, name, *(str(Path(path).resolve()) for path in paths), format="libsvm")


def raw_urls(source: Source, count: int) -> list[tuple[int, bytes]]:
    """Return the first URLs as they are, each after its label: 1 for an anomaly, -1 for a normal one."""
    with open_source(located(source.files[0])) as file:
        lines = b"".join(iter(lambda: file.read(1 << 20), b"")).splitlines()
    fields = (line.split(b"\t") for line in lines[:count])
    return [(1 if label in {b"1", b"+1"} else -1, url) for _, label, url in fields]


def _listed(name: str, title: str, *files: str, format: Format) -> Source:  # noqa: A002 - as `read` calls it
    readers: list[Reader] = [partial(_read, file, format) for file in files]
    return Source(name, title, files, *readers)


def _read(file: str, format: Format, limit: int | None) -> Iterator[Batch]:  # noqa: A002 - as `read` calls it
    return first(read(located(file), format=format), limit)


def _read_w8a(limit: int | None) -> Iterator[Batch]:
    """Shuffle: all positives of the file are among its first 5,000 lines."""
    return first(shuffled(read(located("sparse/w8a.xz"), format="libsvm"), SEED), limit)


def _elec2_batches() -> Iterator[Batch]:
    with open_source(located(ELEC2_FILE)) as source:
        for block in blocks(source, ELEC2_BLOCK_BYTES):
            rows = np.array([line.split(b",") for number, line in block.lines() if number > 1], np.float64)
            yield batch_of(rows[:, :-1], np.where(rows[:, -1] > 0.0, 1.0, -1.0), ELEC2_NAMES)


def _read_pcmac(limit: int | None) -> Iterator[Batch]:
    from scipy.io import loadmat  # noqa: PLC0415 - only the benchmarks install scipy

    found = loadmat(located(PCMAC_FILE))
    order = np.random.default_rng(SEED).permutation(len(found["X"]))  # the file is in order of class
    counts = found["X"][order]
    labels = np.where(found["Y"].ravel()[order] == 1, 1.0, -1.0)
    yield from first(batch_of(counts, labels, numbered(counts.shape[1])).split(PCMAC_BATCH), limit)


PCMAC: Final = Source("pcmac", "PCMAC", (PCMAC_FILE,), _read_pcmac)
A9A: Final = _listed("a9a", "a9a", "sparse/a9a.xz", "sparse/a9a.t.xz", format="libsvm")
W8A: Final = Source("w8a", "w8a", ("sparse/w8a.xz",), _read_w8a)
ELEC2: Final = Source("elec2", "ELEC2", (ELEC2_FILE,), lambda limit: first(_elec2_batches(), limit))
PHISHSTORM: Final = _listed("phishstorm", "PhishStorm", "urls/phishstorm.tsv.xz", format="urls")
PDD: Final = _listed("pdd", "PDD", "urls/pdd.tsv.xz", format="urls")
PHISHTANK: Final = _listed(
    "phishtank", "PhishTank and Lobsters", "urls/phishtank-lobsters-2018-10_2019-10.tsv.xz", format="urls"
)
JPCERT: Final = _listed("jpcert", "JPCERT and Lobsters", "urls/jpcert-lobsters-2019_2021.tsv.xz", format="urls")
