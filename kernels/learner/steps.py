"""What happens around every example, whatever the algorithm: counting, costs, lambda_t, discounts, target sparsity."""

import math

import numpy as np

from kernels.arrays import Floats, Ints
from kernels.compiler import inner, part
from kernels.learner.options import (
    AUTO_COSTS,
    COST_NEGATIVE,
    COST_POSITIVE,
    ETA,
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

FAINT = 2.0**-200  # when the common factor is this small, it is settled into the rows before it can underflow
MILD = 10.0  # an imbalance of so much counts for about half; one of 1:99 for nine tenths
SAMPLE = 4096  # features looked at to find lambda for a target sparsity
PERIOD = 1024  # examples between two such looks, after the first doublings


@inner
def _moderated(rho: float) -> float:
    """rho >= 1, taken for less while it is small: docs/algorithms.md says why."""
    beyond = rho - 1.0
    return 1.0 + beyond * beyond / (beyond + MILD)


@inner
def _imbalance(negatives: float, positives: float) -> float:
    if negatives >= positives:
        return _moderated(negatives / positives)
    return 1.0 / _moderated(positives / negatives)


@inner
def begin(tally: Floats, label: float, settings: Floats) -> float:
    """Count the example and discount the past; return the cost of the label's class."""
    tally[STEP] += 1.0
    tally[POSITIVES if label > 0.0 else NEGATIVES] += 1.0
    tally[SCALE] *= settings[KEEP]
    if settings[AUTO_COSTS] == 0.0:
        return settings[COST_POSITIVE] if label > 0.0 else settings[COST_NEGATIVE]
    root = math.sqrt(settings[ODDS] * _imbalance(tally[NEGATIVES] + 1.0, tally[POSITIVES] + 1.0))
    return root if label > 0.0 else 1.0 / root


@inner
def lambda_at(t: float, tally: Floats, settings: Floats) -> float:
    """lambda_t of the schedule, or what the target sparsity has found."""
    if settings[TARGET] > 0.0:
        return tally[LAMBDA]
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


@inner
def sample_due(tally: Floats, settings: Floats) -> int:
    """How many features to look at now for the target sparsity: 0 most of the time."""
    if settings[TARGET] == 0.0:
        return 0
    step = int(tally[STEP])
    if step % PERIOD != 0 and (step > PERIOD or step & (step - 1) != 0):
        return 0
    return int(min(tally[FEATURES], SAMPLE))


@inner
def is_due(tally: Floats, settings: Floats) -> bool:
    """Whether there is something to do after this example, if it was learnt, besides learning it."""
    if tally[OUTCOME] == TABLE_FULL:
        return False
    return bool(tally[SCALE] < FAINT or sample_due(tally, settings) > 0)


@part
def quantile(sizes: Floats, share: float) -> float:
    """Return the ceil(share * k)-th smallest of k sizes."""
    rank = int(math.ceil(share * sizes.size))
    return float(np.partition(sizes, rank - 1)[rank - 1])


@inner
def longest(starts: Ints) -> int:
    """Non-zeros of the longest example."""
    most = 0
    for i in range(starts.size - 1):
        most = max(most, starts[i + 1] - starts[i])
    return most


@inner
def settle(rows: Floats, width: int, tally: Floats) -> None:
    """Multiply the common factor into every state, where all states are plain sums."""
    scale = tally[SCALE]
    for at in range(0, rows.size, width):
        for j in range(1, width):
            rows[at + j] *= scale
    tally[SCALE] = 1.0
