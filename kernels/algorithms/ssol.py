"""SSOL: diagonal second order sparse online learning (Algorithm 5 of the paper); with costs it is CS-SSOL.

A^-1 contains x_t before the prediction is made, so a score computes it without writing it.
"""

import numpy as np

from kernels.arrays import Floats, Ints, Keys
from kernels.compiler import inner, kernel
from kernels.learner.maths import dot, soft
from kernels.learner.options import COORDINATE, ETA, KEEP, ON_THETA, TARGET, R
from kernels.learner.second_order import energy, take_in, take_in_alone
from kernels.learner.steps import FAINT, begin, is_due, lambda_at, longest, quantile, sample_due
from kernels.learner.totals import LAMBDA, OUTCOME, SCALE, STEP, TABLE_FULL, UNCHANGED, UPDATED
from kernels.table.rows import EMPTY, START, enter, gather

STATE = ("theta", "inverse")
FRESH = (0.0, 1.0)
WIDTH = 3
WORK = 3
THETA, INVERSE, WEIGHT = 0, 1, 2  # rows of `work`
OPTIONS = frozenset(
    {"eta", "r", "lambda", "lambda_schedule", "target_sparsity", "denominator", "threshold_on", "forgetting"}
)
DEFAULTS = {"eta": 2.0, "lambda_schedule": "sqrt_t"}


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
        scores[i] = _step(rows, dense, tally, keys, values, starts[i], starts[i + 1], labels[i], settings, slots, work)
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
        theta, inverse = rows[at + 1] * scale, min(rows[at + 2] / scale, 1.0)
        if settings[ON_THETA] == 1.0:
            sizes[found], weights[found] = abs(theta), inverse * soft(theta, threshold)
        else:
            sizes[found], weights[found] = abs(inverse * theta), soft(inverse * theta, threshold)
        evidence[found] = 1.0 / inverse - 1.0
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
    scale = tally[SCALE]
    x = values[start:stop]
    result = _predict(work, x, scale, lambda_at(tally[STEP], tally, settings), settings)
    loss = label * result < 1.0
    step = settings[ETA] * cost * label if loss else 0.0
    grown = 1.0 / scale
    for k in range(x.size):
        at = slots[k]
        rows[at + np.uint64(1)] = (work[THETA, k] + step * x[k]) * grown
        rows[at + np.uint64(2)] = work[INVERSE, k] * scale
    tally[OUTCOME] = UPDATED if loss else UNCHANGED
    return result


@inner
def _predict(work: Floats, x: Floats, scale: float, threshold: float, settings: Floats) -> float:
    """Turn the gathered state into theta, A^-1 with x in it, and w; return w.x."""
    if scale != 1.0:
        for k in range(x.size):
            work[THETA, k] *= scale
            work[INVERSE, k] = min(work[INVERSE, k] / scale, 1.0)
    if settings[COORDINATE] == 1.0:
        take_in_alone(work, INVERSE, x, settings[R])
    else:
        take_in(work, INVERSE, x, energy(work, INVERSE, x), settings[R])
    if settings[ON_THETA] == 1.0:
        for k in range(x.size):
            work[WEIGHT, k] = work[INVERSE, k] * soft(work[THETA, k], threshold)
    else:
        for k in range(x.size):
            work[WEIGHT, k] = soft(work[INVERSE, k] * work[THETA, k], threshold)
    return dot(work, WEIGHT, x)


@kernel
def _after(rows: Floats, dense: Floats, tally: Floats, settings: Floats) -> None:
    """Settle a faint common factor; look for lambda if it is time to."""
    if tally[SCALE] < FAINT:
        for at in range(0, rows.size, WIDTH):
            rows[at + 1] *= tally[SCALE]
            rows[at + 2] = min(rows[at + 2] / tally[SCALE], 1.0)
        tally[SCALE] = 1.0
    sample = sample_due(tally, settings)
    if sample > 0:
        found = np.empty((3, sample))
        survey(rows, dense, tally, settings, found[0], found[1], found[2])
        tally[LAMBDA] = quantile(found[1], settings[TARGET])
