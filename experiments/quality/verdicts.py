"""How verdicts met labels, counted in the same way for all contenders: a score above 0 says anomaly; and results."""

from collections.abc import Sequence

import msgspec
import numpy as np

from app.learning.parts.confusion import Confusion
from experiments.preparation import Facts
from experiments.quality.significance import Comparison
from experiments.quality.streams import NATURAL
from kernels.arrays import Floats

ERROR, BALANCED = "error", "balanced"
OBJECTIVES = (BALANCED, ERROR)
LABELS = {NATURAL: (50, 100, 200, 500), "1:99": (500, 1000, 2000)}  # after which a cold start is measured


class Row(msgspec.Struct, frozen=True):
    """One contender at its best point for one objective: shares, each the mean over samples."""

    contender: str
    form: str
    objective: str
    setting: dict[str, float | str]
    edge: str
    points: int  # that were tried
    error: float
    balanced: float | None
    last_half: float | None
    sparsity: float | None


class Match(msgspec.Struct, frozen=True):
    """One of ours against the best rival for an objective."""

    scenario: str  # empty: none
    ours: str
    rival: str
    objective: str
    our_share: float
    their_share: float
    comparison: Comparison


class Curve(msgspec.Struct, frozen=True):
    """A cold start: the mean of balanced accuracy over several starts, after so many labels."""

    contender: str
    values: list[float | None]


class Outcome(msgspec.Struct, frozen=True):
    """Everything about one stream at one ratio; no rows if it has too few anomalies for that."""

    stream: str
    ratio: str
    facts: Facts
    rows: list[Row] = []
    matches: list[Match] = []
    curves: list[Curve] = []
    batch_last_half: float | None = None


def confusion(labels: Floats, scores: Floats) -> Confusion:
    positive, said = labels > 0.0, scores > 0.0
    return Confusion(
        true_negatives=int(np.count_nonzero(~positive & ~said)),
        false_positives=int(np.count_nonzero(~positive & said)),
        false_negatives=int(np.count_nonzero(positive & ~said)),
        true_positives=int(np.count_nonzero(positive & said)),
    )


def last_half(labels: Floats, scores: Floats) -> float | None:
    """Return the balanced accuracy without the first half, in which everything was new."""
    half = labels.size // 2
    return confusion(labels[half:], scores[half:]).balanced_accuracy


def curve(labels: Floats, scores: Floats, points: Sequence[int]) -> list[float | None]:
    """Return the balanced accuracy after so many examples; None where a class has not been seen."""
    return [confusion(labels[:count], scores[:count]).balanced_accuracy for count in points]


def mean_curve(curves: Sequence[Sequence[float | None]]) -> list[float | None]:
    """Return the mean at each point over the curves that are defined there."""
    columns = ([value for value in column if value is not None] for column in zip(*curves, strict=True))
    return [sum(column) / len(column) if column else None for column in columns]
