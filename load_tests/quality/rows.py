"""What a contender reached on a stream."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from kernels.arrays import Floats
from load_tests.quality.contenders.contender import Options, Played
from load_tests.quality.rates import confusion, last_half
from load_tests.quality.sizes import HEAD


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one run, as shares; None where they are not defined."""

    error: float | None
    balanced: float | None
    last_half: float | None
    head_error: float | None
    head_balanced: float | None
    sparsity: float | None


@dataclass(frozen=True, slots=True)
class Row:
    """One contender on one stream at one ratio, with the settings that were best; a run for each sample."""

    stream: str
    contender: str
    ratio: str
    setting: Options
    examples: int
    runs: list[Figures]

    def mean(self, name: str) -> float | None:
        """The mean of a figure over the runs; None if it is not defined in one of them."""
        values = self.values(name)
        return fmean(values) if len(values) == len(self.runs) and values else None

    def spread(self, name: str) -> float | None:
        """From the least to the largest of a figure over the runs."""
        values = self.values(name)
        return max(values) - min(values) if len(values) > 1 else None

    def values(self, name: str) -> list[float]:
        """A figure of each run where it is defined."""
        return [value for run in self.runs if (value := getattr(run, name)) is not None]


@dataclass(frozen=True, slots=True)
class Facts:
    """What a stream is made of."""

    stream: str
    examples: int
    positives: int
    nonzeros: int
    features: int


@dataclass(frozen=True, slots=True)
class Curve:
    """A cold start: the mean of balanced accuracy over several starts, after so many labels."""

    stream: str
    contender: str
    ratio: str
    values: list[float | None]


def figures(labels: Floats, played: Played) -> Figures:
    """What the scores amount to."""
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


def best_by_error(runs: Sequence[Figures]) -> int:
    """Which run has the least error."""
    return min(range(len(runs)), key=lambda k: 1.0 if (error := runs[k].error) is None else error)


def best_by_balance(runs: Sequence[Sequence[Figures]]) -> int:
    """Which setting has the largest balanced accuracy, on average over its samples."""
    return max(range(len(runs)), key=lambda k: fmean(run.balanced or 0.0 for run in runs[k]))
