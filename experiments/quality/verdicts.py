"""How verdicts met labels, counted in the same way for all contenders: a score above 0 says anomaly."""

from collections.abc import Sequence

import numpy as np

from app.learning.prequential import Confusion
from kernels.arrays import Floats


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
