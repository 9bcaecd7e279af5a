"""FTRL-proximal with the logistic loss and class costs (McMahan and others 2013).

Beyond the paper: measured as one of its strongest rivals. eta is their alpha, delta their beta.
"""

import math

import numpy as np

from kernels.arrays import Floats, Ints, Keys
from kernels.compiler import inner, kernel
from kernels.learner.maths import dot, logistic, soft
from kernels.learner.options import DELTA, ETA, KEEP, TARGET
from kernels.learner.steps import FAINT, begin, is_due, lambda_at, longest, quantile, sample_due, settle
from kernels.learner.totals import LAMBDA, OUTCOME, SCALE, STEP, TABLE_FULL, UNCHANGED, UPDATED
from kernels.table.rows import EMPTY, START, enter, gather

STATE = ("z", "squares")
FRESH = (0.0, 0.0)
WIDTH = 3
WORK = 3
Z, SQUARES, WEIGHT = 0, 1, 2  # rows of `work`
OPTIONS = frozenset({"eta", "delta", "lambda", "lambda_schedule", "target_sparsity", "forgetting", "costs"})
DEFAULTS = {"eta": 2.0}
LOSS = "logistic"


@kernel
def score(
    rows: Floats, dense: Floats, tally: Floats, keys: Keys, values: Floats, settings: Floats, weights: Floats
) -> float:
    """Score one example without writing; leave the weight of each of its features in `weights`."""
    slots, work = np.empty(keys.size, np.uint64), np.empty((WORK, keys.size))
    result = _score(rows, dense, tally, keys, values, START, keys.size, settings, slots, work)
    weights[:] = work[WEIGHT]
    return result


@kernel
def scores(
    rows: Floats,
    dense: Floats,
    tally: Floats,
    keys: Keys,
    values: Floats,
    starts: Ints,
    settings: Floats,
    results: Floats,
) -> None:
    """Score a batch without writing, each example as `score` does."""
    slots, work = np.empty(longest(starts), np.uint64), np.empty((WORK, longest(starts)))
    for i in range(results.size):
        results[i] = _score(rows, dense, tally, keys, values, starts[i], starts[i + 1], settings, slots, work)


@kernel
def learn(
    rows: Floats, dense: Floats, tally: Floats, keys: Keys, values: Floats, label: float, settings: Floats
) -> float:
    """Learn one example in place; return the score it had before."""
    slots, work = np.empty(keys.size, np.uint64), np.empty((WORK, keys.size))
    result = _step(rows, dense, tally, keys, values, START, keys.size, label, settings, slots, work)
    if is_due(tally, settings):
        _after(rows, dense, tally, settings)
    return result


@kernel
def stream(
    rows: Floats,
    dense: Floats,
    tally: Floats,
    keys: Keys,
    values: Floats,
    starts: Ints,
    labels: Floats,
    settings: Floats,
    scores: Floats,
    first: int,
) -> int:
    """Test, then train, example by example from `first` on; return where it stopped because the table must grow."""
    slots, work = np.empty(longest(starts), np.uint64), np.empty((WORK, longest(starts)))
    for i in range(first, labels.size):
        start, stop = starts[i], starts[i + 1]
        scores[i] = _step(rows, dense, tally, keys, values, start, stop, labels[i], settings, slots, work)
        if tally[OUTCOME] == TABLE_FULL:
            return i
        if is_due(tally, settings):
            _after(rows, dense, tally, settings)
    return labels.size


@kernel
def survey(
    rows: Floats, dense: Floats, tally: Floats, settings: Floats, weights: Floats, sizes: Floats, evidence: Floats
) -> None:
    """Weight, size before the threshold and evidence of the first rows in the table, as many as there is room for."""
    bits = rows.view(np.uint64)
    scale, threshold = tally[SCALE], lambda_at(tally[STEP], tally, settings)
    found = 0
    for at in range(0, rows.size, WIDTH):
        if found == weights.size:
            return
        if bits[at] == EMPTY:
            continue
        z, squares = rows[at + 1] * scale, rows[at + 2] * scale
        weights[found] = _weight(z, squares, threshold, settings)
        sizes[found], evidence[found] = abs(z), squares
        found += 1


@inner
def _score(
    rows: Floats,
    dense: Floats,
    tally: Floats,
    keys: Keys,
    values: Floats,
    start: int,
    stop: int,
    settings: Floats,
    slots: Keys,
    work: Floats,
) -> float:
    gather(rows, tally, keys, start, stop, slots, work, FRESH)
    threshold = lambda_at(tally[STEP] + 1.0, tally, settings)
    return _predict(work, values[start:stop], tally[SCALE] * settings[KEEP], threshold, settings)


@inner
def _step(
    rows: Floats,
    dense: Floats,
    tally: Floats,
    keys: Keys,
    values: Floats,
    start: int,
    stop: int,
    label: float,
    settings: Floats,
    slots: Keys,
    work: Floats,
) -> float:
    if not enter(rows, tally, keys, start, stop, slots, work, FRESH, settings):
        return 0.0
    cost = begin(tally, label, settings)
    x = values[start:stop]
    scale, eta = tally[SCALE], settings[ETA]
    grown = 1.0 / scale
    result = _predict(work, x, scale, lambda_at(tally[STEP], tally, settings), settings)
    slope = cost * (logistic(result) - (1.0 if label > 0.0 else 0.0))
    for k in range(x.size):
        gradient, before = slope * x[k], work[SQUARES, k] * scale
        after = before + gradient * gradient
        sigma = (math.sqrt(after) - math.sqrt(before)) / eta
        rows[slots[k] + np.uint64(1)] = work[Z, k] + (gradient - sigma * work[WEIGHT, k]) * grown
        rows[slots[k] + np.uint64(2)] = after * grown
    tally[OUTCOME] = UPDATED if slope != 0.0 else UNCHANGED
    return result


@inner
def _predict(work: Floats, x: Floats, scale: float, threshold: float, settings: Floats) -> float:
    """Leave w beside the gathered state; return w.x."""
    for k in range(x.size):
        work[WEIGHT, k] = _weight(work[Z, k] * scale, work[SQUARES, k] * scale, threshold, settings)
    return dot(work, WEIGHT, x)


@inner
def _weight(z: float, squares: float, threshold: float, settings: Floats) -> float:
    return -soft(z, threshold) * settings[ETA] / (settings[DELTA] + math.sqrt(squares))


@kernel
def _after(rows: Floats, dense: Floats, tally: Floats, settings: Floats) -> None:
    """Settle a faint common factor; look for lambda if it is time to."""
    if tally[SCALE] < FAINT:
        settle(rows, WIDTH, tally)
    sample = sample_due(tally, settings)
    if sample > 0:
        found = np.empty((3, sample))
        survey(rows, dense, tally, settings, found[0], found[1], found[2])
        tally[LAMBDA] = quantile(found[1], settings[TARGET])
