"""A naive twin of the sums in `kernels/evaluation/honest.py`: every label is kept, and nothing is updated."""

from collections.abc import Sequence

import numpy as np

from kernels.arrays import Floats

Chosen = tuple[float, float, float]  # label, served verdict, probability


def sums_of(labels: Sequence[Chosen], fading: float) -> Floats:
    """Count, sum of w, of w (w - 1), and of w squared, by cell; each label has faded once for each later one."""
    found = np.zeros((4, 4))
    for age, (label, verdict, probability) in enumerate(reversed(labels)):
        cell, faded, weight = 2 * (label > 0) + (verdict > 0), fading**age, 1.0 / probability
        found[cell] += [faded, faded * weight, faded**2 * weight * (weight - 1.0), faded**2 * weight**2]
    return found
