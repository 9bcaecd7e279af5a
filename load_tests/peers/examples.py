"""The examples of all contenders: raw inputs, and the features that Sluice makes of them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import msgspec
import numpy as np

from app.datasets.mails.corpus import open_mails
from app.datasets.observer import Watch
from app.datasets.skipped_lines import Faults
from app.datasets.source import open_source
from app.features.featurizer import Kind, features_of
from experiments.sets.rare import rare
from load_tests.quality.sources import PHISHSTORM, SOURCES, TREC, Source

DIGITS = 6
SAMPLE_SEED = 1  # of the stream with 1 anomaly in 100


@dataclass(frozen=True, slots=True)
class Example:
    """An input with its label (1: an anomaly, -1: normal), and its features as a JSON object."""

    label: int
    raw: bytes
    features: bytes


URLS = next(source for source in SOURCES if PHISHSTORM in source.streams)
MAILS = next(source for source in SOURCES if TREC in source.streams)


def absent() -> list[str]:
    """Missing files."""
    return [str(source.path) for source in (URLS, MAILS) if not source.path.exists()]


def urls(count: int, source: Source = URLS) -> list[Example]:
    """The first URLs of the stream."""
    with open_source(source.path) as file:
        lines = b"".join(iter(lambda: file.read(1 << 20), b"")).splitlines()
    fields = (line.split(b"\t") for line in lines[:count])
    return _with_features("url", [(1 if label in {b"1", b"+1"} else -1, url) for _, label, url in fields])


def mails(count: int, source: Source = MAILS) -> list[Example]:
    """The first mails of the stream."""
    with open_mails(source.path, Faults(source.file), Watch()) as found:
        labelled = [(int(mail.label), mail.raw) for mail in islice(found, count)]
    return _with_features("email", labelled)


def made_rare(examples: Sequence[Example], seed: int) -> list[Example]:
    """All normal ones, and so few anomalies that they are 1 in 100."""
    labels = np.array([float(example.label) for example in examples])
    return [examples[place] for place in rare(labels, seed).tolist()]


def _with_features(kind: Kind, labelled: Sequence[tuple[int, bytes]]) -> list[Example]:
    """Leave out inputs without features."""
    found = [Example(label, raw, features_json(kind, raw)) for label, raw in labelled]
    return [example for example in found if example.features != b"{}"]


def features_json(kind: Kind, raw: bytes) -> bytes:
    """Scale to length 1, as Sluice does anyway: peers that do not scale would fare worse without."""
    example = features_of(kind, raw).example
    values = example.values.tolist()
    length = math.sqrt(sum(value * value for value in values)) or 1.0
    scaled = {name: float(f"{value / length:.{DIGITS}g}") for name, value in zip(example.names, values, strict=True)}
    return msgspec.json.encode(scaled)
