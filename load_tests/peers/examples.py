"""The examples of all contenders: raw inputs, and the features that Sluice makes of them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from app.features.featurizer import Kind, features_of
from experiments.examples import rare
from experiments.sets.files import PHISHSTORM, raw_urls
from experiments.sets.mails import TREC07P, raw_mails

DIGITS = 6
SAMPLE_SEED = 1  # of the stream with 1 anomaly in 100


@dataclass(frozen=True, slots=True)
class Example:
    """An input with its label (1: an anomaly, -1: normal), and its features as a JSON object."""

    label: int
    raw: bytes
    features: bytes


def read(kind: Kind, count: int) -> list[Example]:
    """Return the first inputs of the stream, without those that have no features."""
    labelled = raw_urls(PHISHSTORM, count) if kind == "url" else raw_mails(TREC07P, count)
    found = [Example(label, raw, features_json(kind, raw)) for label, raw in labelled]
    return [example for example in found if example.features != b"{}"]


def made_rare(examples: Sequence[Example], seed: int) -> list[Example]:
    """All normal ones, and so few anomalies that they are 1 in 100."""
    labels = np.array([float(example.label) for example in examples])
    return [examples[place] for place in rare(labels, seed).tolist()]


def features_json(kind: Kind, raw: bytes) -> bytes:
    """Scale to length 1, as Sluice does anyway: peers that do not scale would fare worse without."""
    example = features_of(kind, raw).example
    values = example.values.tolist()
    length = math.sqrt(sum(value * value for value in values)) or 1.0
    scaled = {name: float(f"{value / length:.{DIGITS}g}") for name, value in zip(example.names, values, strict=True)}
    return msgspec.json.encode(scaled)
