"""CS-OGD: cost-sensitive online gradient descent, the slope form (Wang, Zhao, Hoi 2014)."""

import numpy as np

from kernels.arrays import Floats, Ints, Keys
from kernels.compiler import inner, kernel
from kernels.learner.maths import dot
from kernels.learner.options import ETA
from kernels.learner.steps import begin, longest
from kernels.learner.totals import OUTCOME, TABLE_FULL, UNCHANGED, UPDATED
from kernels.table.rows import EMPTY, START, enter, gather

STATE = ("w",)
FRESH = (0.0,)
WIDTH = 2
WORK = 1
W = 0  # rows of `work`
OPTIONS = frozenset({"eta", "costs"})
DEFAULTS: dict[str, float | str] = {}


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
    return _step(rows, dense, tally, keys, values, START, keys.size, label, settings, slots, work)


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
        weights[found], sizes[found], evidence[found] = rows[at + 1], abs(rows[at + 1]), abs(rows[at + 1])
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
    return dot(work, W, values[start:stop])


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
    result = dot(work, W, x)
    tally[OUTCOME] = UNCHANGED
    if label * result < 1.0:
        step = settings[ETA] * cost * label
        for k in range(x.size):
            rows[slots[k] + np.uint64(1)] = work[W, k] + step * x[k]
        tally[OUTCOME] = UPDATED
    return result
