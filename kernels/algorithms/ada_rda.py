"""Ada-RDA: adaptive regularised dual averaging with a diagonal matrix (Duchi, Hazan, Singer 2011).

theta gathers the gradients and G their squares; lambda_t grows with t.
"""

import math

import numpy as np

from kernels.arrays import Floats, Ints, Keys
from kernels.compiler import inner, kernel
from kernels.learner.maths import dot, soft
from kernels.learner.options import DELTA, ETA, KEEP, TARGET
from kernels.learner.steps import FAINT, begin, is_due, lambda_at, longest, quantile, sample_due, settle
from kernels.learner.totals import LAMBDA, OUTCOME, SCALE, STEP, TABLE_FULL, UNCHANGED, UPDATED
from kernels.table.rows import EMPTY, START, enter, gather

STATE = ("theta", "squares")
FRESH = (0.0, 0.0)
WIDTH = 3
WORK = 3
THETA, SQUARES, WEIGHT = 0, 1, 2  # rows of `work`
OPTIONS = frozenset({"eta", "delta", "lambda", "lambda_schedule", "target_sparsity", "forgetting"})
DEFAULTS = {"eta": 2.0, "lambda_schedule": "linear"}


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
        theta, squares = rows[at + 1] * scale, rows[at + 2] * scale
        weights[found] = settings[ETA] * soft(theta, threshold) / (settings[DELTA] + math.sqrt(squares))
        sizes[found], evidence[found] = abs(theta), squares
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
    grown = 1.0 / tally[SCALE]
    result = _predict(work, x, tally[SCALE], lambda_at(tally[STEP], tally, settings), settings)
    tally[OUTCOME] = UNCHANGED
    if label * result < 1.0:
        step = cost * label * grown
        for k in range(x.size):
            rows[slots[k] + np.uint64(1)] = work[THETA, k] + step * x[k]
            rows[slots[k] + np.uint64(2)] = work[SQUARES, k] + x[k] * x[k] * grown
        tally[OUTCOME] = UPDATED
    return result


@inner
def _predict(work: Floats, x: Floats, scale: float, threshold: float, settings: Floats) -> float:
    """Leave w beside the gathered state; return w.x."""
    for k in range(x.size):
        adapted = settings[DELTA] + math.sqrt(work[SQUARES, k] * scale)
        work[WEIGHT, k] = settings[ETA] * soft(work[THETA, k] * scale, threshold) / adapted
    return dot(work, WEIGHT, x)


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
