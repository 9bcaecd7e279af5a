"""Prequential confusion matrices: since the start, over a sliding window, and fading. Drift is detected on the way.

A cell is `2 * (label is 1) + (verdict is 1)`: true negatives, false positives, false negatives, true positives.
"""

from kernels.arrays import Bytes, Floats, Ints
from kernels.compiler import inlined_no_refcount, kernel
from kernels.evaluation.drift import watch

WRONG = (1, 2)  # the cells of wrong verdicts


@kernel
def count(
    total: Ints,
    window: Ints,
    faded: Floats,
    ring: Bytes,
    detectors: Ints,
    labels: Floats,
    scores: Floats,
    thresholds: Floats,
    fading: float,
) -> None:
    """Count the verdicts on a batch, in order; `ring` holds the cells of the last examples."""
    for i in range(labels.size):
        _count(total, window, faded, ring, detectors, labels[i], scores[i], thresholds[i], fading)


@kernel
def count_one(
    total: Ints,
    window: Ints,
    faded: Floats,
    ring: Bytes,
    detectors: Ints,
    label: float,
    score: float,
    threshold: float,
    fading: float,
) -> None:
    """Count the verdict on one example, as `count` does."""
    _count(total, window, faded, ring, detectors, label, score, threshold, fading)


@inlined_no_refcount
def _count(
    total: Ints,
    window: Ints,
    faded: Floats,
    ring: Bytes,
    detectors: Ints,
    label: float,
    score: float,
    threshold: float,
    fading: float,
) -> None:
    cell = 2 * int(label > 0.0) + int(score > threshold)
    seen = total[0] + total[1] + total[2] + total[3]
    place = seen % ring.size
    if seen >= ring.size:
        window[ring[place]] -= 1
    ring[place] = cell
    window[cell] += 1
    total[cell] += 1
    for c in range(4):
        faded[c] *= fading
    faded[cell] += 1.0
    watch(detectors, cell // 2, int(cell in WRONG), seen + 1)
