"""Whether two contenders that judged the same examples differ by more than chance."""

import math
from collections.abc import Sequence
from importlib import import_module
from statistics import fmean

import msgspec
import numpy as np

from kernels.arrays import Floats, Ints

LEVEL = 0.05
EXACT = 1000  # differing verdicts up to which McNemar's test is exact
WON, EVEN, LOST = "won", "level", "lost"


class Comparison(msgspec.Struct, frozen=True):
    """How much better ours is, as a share, and the probability of so large a difference by chance."""

    difference: float
    chance: float

    @property
    def verdict(self) -> str:
        return EVEN if self.chance >= LEVEL else WON if self.difference > 0.0 else LOST


class Judged(msgspec.Struct, frozen=True):
    """One sample: which example of the stream each line is, its label, and who was right."""

    rows: Ints
    labels: Floats
    ours: Ints  # 1 where right, else 0
    theirs: Ints


def compare(samples: Sequence[Judged], *, balanced: bool) -> Comparison:
    """Compare shares of right verdicts; `balanced`: the mean of both classes.

    One sample: McNemar's test, or for balanced accuracy a paired z-test within each class. Several samples share
    examples, so an example counts once in the z-test, with its mean; and a paired t-test over the samples must agree.
    """
    strata = [[s.labels > 0.0, s.labels <= 0.0] if balanced else [s.labels != 0.0] for s in samples]
    shifts = [s.ours.astype(np.int64) - s.theirs for s in samples]
    means, variance = [], 0.0
    for stratum in range(len(strata[0])):
        rows = np.concatenate([s.rows[of[stratum]] for s, of in zip(samples, strata, strict=True)])
        moved = np.concatenate([shift[of[stratum]] for shift, of in zip(shifts, strata, strict=True)])
        _, places = np.unique(rows, return_inverse=True)
        sums, counts = np.bincount(places, moved), np.bincount(places)
        means.append(float(moved.mean()))
        variance += float(((sums - means[-1] * counts) ** 2).sum()) / moved.size**2 / len(strata[0]) ** 2
    difference = fmean(means)
    if len(samples) == 1 and not balanced:
        return Comparison(difference, mcnemar(int((shifts[0] > 0).sum()), int((shifts[0] < 0).sum())))
    chance = math.erfc(abs(difference) / math.sqrt(2.0 * variance)) if variance else 1.0
    if len(samples) > 1:
        by_sample = [fmean(float(shift[of].mean()) for of in each) for shift, each in zip(shifts, strata, strict=True)]
        chance = max(chance, t_test(by_sample))
    return Comparison(difference, chance)


def mcnemar(only_ours: int, only_theirs: int) -> float:
    """Return the two-sided probability, exact or by the normal distribution with continuity correction."""
    differing = only_ours + only_theirs
    if differing > EXACT:
        return math.erfc(max(abs(only_ours - only_theirs) - 1.0, 0.0) / math.sqrt(2.0 * differing))
    tail = sum(math.comb(differing, k) for k in range(min(only_ours, only_theirs) + 1))
    return min(1.0, 2.0 * tail / (1 << differing))


def t_test(differences: Sequence[float]) -> float:
    """Return the two-sided probability that the mean of paired differences is 0."""
    if np.ptp(differences) == 0.0:
        return float(differences[0] == 0.0)
    spread = float(np.std(differences, ddof=1)) / math.sqrt(len(differences))
    distribution = import_module("scipy.stats").t  # scipy has no types
    return float(2.0 * distribution.sf(abs(fmean(differences)) / spread, len(differences) - 1))
