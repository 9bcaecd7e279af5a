"""How verdicts met labels, counted in the same way for all contenders: a score above 0 says anomaly."""

from collections.abc import Sequence
from statistics import fmean

import msgspec
import numpy as np

from app.learning.prequential import Confusion
from experiments.quality.contenders import Played
from kernels.arrays import Floats

NATURAL = "natural"
RARE = "1:99"
RATIOS = (NATURAL, RARE)
POINTS = {NATURAL: (50, 100, 200, 500), RARE: (500, 1000, 2000)}  # labels after which a cold start is measured
HEAD = 20_000  # examples; over these all can be compared, also learners with a limit


class Figures(msgspec.Struct, frozen=True):
    """Shares of one run; None where they are not defined."""

    error: float | None
    balanced: float | None
    last_half: float | None
    head_error: float | None
    head_balanced: float | None
    sparsity: float | None


class Row(msgspec.Struct, frozen=True):
    """One contender on one stream at one ratio, with the best settings; a run for each sample."""

    stream: str
    contender: str
    ratio: str
    setting: dict[str, float | str]
    examples: int
    runs: list[Figures]

    def mean(self, name: str) -> float | None:
        """Return the mean of a figure over the runs; None if it is not defined in one of them."""
        values = self.values(name)
        return fmean(values) if len(values) == len(self.runs) and values else None

    def spread(self, name: str) -> float | None:
        values = self.values(name)
        return max(values) - min(values) if len(values) > 1 else None

    def values(self, name: str) -> list[float]:
        return [value for run in self.runs if (value := getattr(run, name)) is not None]


class Curve(msgspec.Struct, frozen=True):
    """A cold start: the mean of balanced accuracy over several starts, after so many labels."""

    stream: str
    contender: str
    ratio: str
    values: list[float | None]


def figures(labels: Floats, played: Played) -> Figures:
    scores = played.scores
    whole, head = confusion(labels, scores), confusion(labels[:HEAD], scores[:HEAD])
    return Figures(
        error=whole.error,
        balanced=whole.balanced_accuracy,
        last_half=last_half(labels, scores),
        head_error=head.error,
        head_balanced=head.balanced_accuracy,
        sparsity=played.sparsity,
    )


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
