"""Prequential counts of verdicts: since the start, over a sliding window, and fading.

A cell is `2 * (label is 1) + (verdict is 1)`: true negatives, false positives, false negatives, true positives.
"""

from kernels.arrays import Bytes, Floats, Ints
from kernels.compiling import kernel


@kernel
def count(
    total: Ints,
    window: Ints,
    faded: Floats,
    ring: Bytes,
    labels: Floats,
    scores: Floats,
    threshold: float,
    fading: float,
) -> None:
    """Count the verdicts on a batch, in order; `ring` remembers the cells of the last examples."""
    for i in range(labels.size):
        cell = 2 * int(labels[i] > 0.0) + int(scores[i] > threshold)
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
