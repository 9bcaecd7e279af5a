"""Balanced accuracy in windows of a stream, its intervals, and the time until a learner recovers."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.learning.prequential import Confusion
from kernels.arrays import Floats

Cells = NDArray[np.float64]  # one row per window: anomalies, true positives, normal examples, true negatives
Shares = NDArray[np.float64]
SEED: Final = 2_016
RESAMPLES: Final = 1_000
LEVEL: Final = 0.95
RECOVERY_WINDOW: Final = 1_000  # examples over which a learner must be
RECOVERY_MARGIN: Final = 0.02  # as good again, but for this,
BEFORE: Final = 10_000  # as over so many before the change


def cells(labels: Floats, scores: Floats, window: int) -> Cells:
    """Count each window of so many examples; the last may be shorter."""
    starts = np.arange(0, labels.size, window)
    return np.add.reduceat(_outcomes(labels, scores), starts, axis=0)


def balanced(counted: Cells) -> float | None:
    """Return the balanced accuracy over all windows; None without both classes."""
    total = counted.sum(axis=0)
    return float(_shares(total)) if total[0] and total[2] else None


def margins(counted: Cells) -> list[float | None]:
    """Return half the width of a 95% interval of each window, as if verdicts were independent."""
    return [
        Confusion(left, normal - left, anomalies - found, found).balanced_accuracy_margin
        for anomalies, found, normal, left in counted.tolist()
    ]


def resampled(counted: Cells) -> Shares:
    """Return balanced accuracies of streams of windows drawn with replacement (a block bootstrap).

    The draws are the same for every learner, so that differences of learners are paired.
    """
    count = len(counted)
    drawn = np.random.default_rng(SEED).multinomial(count, np.full(count, 1.0 / count), RESAMPLES)
    return np.asarray(_shares(drawn @ counted))


def interval(values: Shares) -> tuple[float, float]:
    """Return the bounds of the middle 95%."""
    low, high = np.quantile(values, [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0])
    return float(low), float(high)


def recovery(labels: Floats, scores: Floats, change: int) -> int | None:
    """Return the labels until the learner is about as good as before the change; None if it never is."""
    outcomes = _outcomes(labels, scores)
    level = balanced(outcomes[max(0, change - BEFORE) : change])
    assert level is not None, "a stream has both classes before its change"
    sums = np.vstack([np.zeros(4), np.cumsum(outcomes[change:], axis=0)])
    reached = _shares(sums[RECOVERY_WINDOW:] - sums[:-RECOVERY_WINDOW]) >= level - RECOVERY_MARGIN
    return int(np.argmax(reached)) + RECOVERY_WINDOW if reached.any() else None


def _outcomes(labels: Floats, scores: Floats) -> Cells:
    positive, said = labels > 0.0, scores > 0.0
    return np.stack([positive, positive & said, ~positive, ~positive & ~said], axis=1).astype(np.float64)


def _shares(totals: Cells) -> Shares:
    with np.errstate(invalid="ignore"):  # a window without one of the classes is not a number, and above no level
        return np.asarray((totals[..., 1] / totals[..., 0] + totals[..., 3] / totals[..., 2]) / 2.0)
