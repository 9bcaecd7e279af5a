"""What every algorithm does around an example: counts, costs, lambda_t, discounts, target sparsity."""

import math

import numpy as np

from kernels.arrays import Floats, Ints
from kernels.compiler import inlined, inlined_no_refcount
from kernels.learner.options import (
    AUTO_COSTS,
    COST_NEGATIVE,
    COST_POSITIVE,
    ETA,
    HALVED,
    INVERSE_T,
    KEEP,
    LAMBDA0,
    LINEAR,
    ODDS,
    SCHEDULE,
    SQRT_T,
    TARGET,
    TIMES_ETA,
)
from kernels.learner.totals import FEATURES, LAMBDA, NEGATIVES, OUTCOME, POSITIVES, SCALE, STEP, TABLE_FULL

SMALLEST_SCALE = 2.0**-200  # below it, SCALE is multiplied into the rows before it can underflow
IMBALANCE_HALVED = 10.0  # an imbalance of 1:10 counts for about half, one of 1:99 for nine tenths
SAMPLE = 4096  # features in the sample that finds lambda for a target sparsity
PERIOD = 1024  # examples between two samples; before that, at powers of two


@inlined_no_refcount
def _moderated(rho: float, halved: float) -> float:
    """Reduce a small rho >= 1; docs/algorithms.md says why."""
    beyond = rho - 1.0
    return 1.0 + beyond * beyond / (beyond + halved)


@inlined_no_refcount
def _imbalance(negatives: float, positives: float, halved: float) -> float:
    if negatives >= positives:
        return _moderated(negatives / positives, halved)
    return 1.0 / _moderated(positives / negatives, halved)


@inlined_no_refcount
def begin(totals: Floats, label: float, settings: Floats) -> float:
    """Count the example and discount the past; return the cost of the label's class."""
    totals[STEP] += 1.0
    totals[POSITIVES if label > 0.0 else NEGATIVES] += 1.0
    totals[SCALE] *= settings[KEEP]
    if settings[AUTO_COSTS] == 0.0:
        return settings[COST_POSITIVE] if label > 0.0 else settings[COST_NEGATIVE]
    imbalance = _imbalance(totals[NEGATIVES] + 1.0, totals[POSITIVES] + 1.0, settings[HALVED])
    root = math.sqrt(settings[ODDS] * imbalance)
    return root if label > 0.0 else 1.0 / root


@inlined_no_refcount
def lambda_at(t: float, totals: Floats, settings: Floats) -> float:
    """Return lambda_t by the schedule, or as found for the target sparsity."""
    if settings[TARGET] > 0.0:
        return totals[LAMBDA]
    schedule = settings[SCHEDULE]
    chosen = settings[LAMBDA0]
    if schedule == TIMES_ETA:
        return settings[ETA] * chosen
    if schedule == INVERSE_T:
        return chosen / max(t, 1.0)
    if schedule == SQRT_T:
        return chosen * math.sqrt(t)
    if schedule == LINEAR:
        return chosen * t
    return chosen


@inlined_no_refcount
def sample_due(totals: Floats, settings: Floats) -> int:
    """Return how many features to sample now for the target sparsity: 0 most of the time."""
    if settings[TARGET] == 0.0:
        return 0
    step = int(totals[STEP])
    if step % PERIOD != 0 and (step > PERIOD or step & (step - 1) != 0):
        return 0
    return int(min(totals[FEATURES], SAMPLE))


@inlined_no_refcount
def is_due(totals: Floats, settings: Floats) -> bool:
    """Tell whether the example, if it was learnt, must be followed by maintenance."""
    if totals[OUTCOME] == TABLE_FULL:
        return False
    return bool(totals[SCALE] < SMALLEST_SCALE or sample_due(totals, settings) > 0)


@inlined
def quantile(sizes: Floats, share: float) -> float:
    """Return the ceil(share * k)-th smallest of k sizes."""
    rank = int(math.ceil(share * sizes.size))
    return float(np.partition(sizes, rank - 1)[rank - 1])


@inlined_no_refcount
def longest(starts: Ints) -> int:
    """Return the number of non-zeros of the longest example."""
    most = 0
    for i in range(starts.size - 1):
        most = max(most, starts[i + 1] - starts[i])
    return most


@inlined_no_refcount
def rescale_sums(rows: Floats, width: int, totals: Floats) -> None:
    """Multiply SCALE into every state, where all states are sums."""
    scale = totals[SCALE]
    for at in range(0, rows.size, width):
        for j in range(1, width):
            rows[at + j] *= scale
    totals[SCALE] = 1.0
