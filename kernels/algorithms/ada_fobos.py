"""Ada-FOBOS: FOBOS with a rate per feature, from its gathered squared gradients (Duchi, Hazan, Singer 2011).

Every example shrinks all weights by eta lambda_t / H. Lazily: GRAVITY sums up lambda_t, and a row, whose H does not
change until it is touched, remembers the sum at its last touch.
"""

import math

import numpy as np

from kernels.arrays import Floats, Ints, Keys
from kernels.compiler import inner, kernel
from kernels.learner.maths import dot, soft
from kernels.learner.options import DELTA, ETA, TARGET
from kernels.learner.steps import begin, is_due, lambda_at, longest, quantile, sample_due
from kernels.learner.totals import GRAVITY, OUTCOME, STEP, TABLE_FULL, UNCHANGED, UPDATED
from kernels.table.rows import EMPTY, START, enter, gather

STATE = ("w", "squares", "touched")
FRESH = (0.0, 0.0, 0.0)
WIDTH = 4
WORK = 3
W, SQUARES, TOUCHED = 0, 1, 2  # rows of `work`
OPTIONS = frozenset({"eta", "delta", "lambda", "lambda_schedule", "target_sparsity"})
DEFAULTS = {"eta": 2.0}


@kernel
def score(
    rows: Floats, dense: Floats, tally: Floats, keys: Keys, values: Floats, settings: Floats, weights: Floats
) -> float:
    """Score one example without writing; leave the weight of each of its features in `weights`."""
    slots, work = np.empty(keys.size, np.uint64), np.empty((WORK, keys.size))
    result = _score(rows, dense, tally, keys, values, START, keys.size, settings, slots, work)
    weights[:] = work[W]
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
        _truncate(rows, dense, tally, settings)
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
            _truncate(rows, dense, tally, settings)
    return labels.size


@kernel
def survey(
    rows: Floats, dense: Floats, tally: Floats, settings: Floats, weights: Floats, sizes: Floats, evidence: Floats
) -> None:
    """Weight, size before the threshold and evidence of the first rows in the table, as many as there is room for."""
    bits = rows.view(np.uint64)
    found = 0
    for at in range(0, rows.size, WIDTH):
        if found == weights.size:
            return
        if bits[at] == EMPTY:
            continue
        reach = settings[ETA] / (settings[DELTA] + math.sqrt(rows[at + 2]))
        w = soft(rows[at + 1], reach * (tally[GRAVITY] - rows[at + 3]))
        weights[found], sizes[found], evidence[found] = w, abs(w) / reach, rows[at + 2]
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
    return _predict(work, values[start:stop], tally[GRAVITY], settings)


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
    result = _predict(work, x, tally[GRAVITY], settings)
    tally[OUTCOME] = UNCHANGED
    if label * result < 1.0:
        step = settings[ETA] * cost * label
        for k in range(x.size):
            gathered = work[SQUARES, k] + x[k] * x[k]
            rows[slots[k] + np.uint64(1)] = work[W, k] + step * x[k] / (settings[DELTA] + math.sqrt(gathered))
            rows[slots[k] + np.uint64(2)] = gathered
            rows[slots[k] + np.uint64(3)] = tally[GRAVITY]
        tally[OUTCOME] = UPDATED
    tally[GRAVITY] += lambda_at(tally[STEP], tally, settings)
    return result


@inner
def _predict(work: Floats, x: Floats, gravity: float, settings: Floats) -> float:
    """Turn the gathered state into w as it is now; return w.x."""
    for k in range(x.size):
        reach = settings[ETA] / (settings[DELTA] + math.sqrt(work[SQUARES, k]))
        work[W, k] = soft(work[W, k], reach * (gravity - work[TOUCHED, k]))
    return dot(work, W, x)


@kernel
def _truncate(rows: Floats, dense: Floats, tally: Floats, settings: Floats) -> None:
    """Shrink every weight by the target sparsity's quantile, if it is time to."""
    sample = sample_due(tally, settings)
    if sample > 0:
        found = np.empty((3, sample))
        survey(rows, dense, tally, settings, found[0], found[1], found[2])
        tally[GRAVITY] += quantile(found[1], settings[TARGET])
