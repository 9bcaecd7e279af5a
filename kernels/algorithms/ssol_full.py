"""SSOL with the full matrix (Algorithm 4 of the paper); with costs it is CS-SSOL in full.

O(d^2) for each example: for small dimensions. A row holds the feature's number; `dense[0]` is theta and `dense[1:]`
is A^-1, by these numbers. A feature that was never seen, or not admitted, is a coordinate of its own: theta 0, and 1 on
the diagonal.
"""

import numpy as np

from kernels.arrays import Floats, Ints, Keys
from kernels.compiler import kernel, part
from kernels.learner.maths import dot, soft
from kernels.learner.options import ETA, ON_THETA, TARGET, R
from kernels.learner.steps import begin, lambda_at, longest, quantile, sample_due
from kernels.learner.totals import FEATURES, LAMBDA, OUTCOME, STEP, TABLE_FULL, UNCHANGED, UPDATED
from kernels.table.rows import EMPTY, START, enter, gather

STATE = ("index",)
FRESH = (-1.0,)
WIDTH = 2
WORK = 2
INDEX, WEIGHT = 0, 1  # rows of `work`
OPTIONS = frozenset({"eta", "r", "lambda", "lambda_schedule", "target_sparsity", "threshold_on"})
DEFAULTS = {"eta": 2.0, "lambda_schedule": "sqrt_t", "max_features": 2048}


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
    threshold, on_theta = lambda_at(tally[STEP], tally, settings), settings[ON_THETA] == 1.0
    theta = _theta(dense, int(tally[FEATURES]), threshold, on_theta)
    found = 0
    for at in range(0, rows.size, WIDTH):
        if found == weights.size:
            return
        if bits[at] == EMPTY:
            continue
        i = int(rows[at + 1])
        u = _along(dense[1 + i], theta)
        weights[found] = u if on_theta else soft(u, threshold)
        sizes[found] = abs(dense[0, i] if on_theta else u)
        evidence[found] = 1.0 / dense[1 + i, i] - 1.0
        found += 1


@part
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
    x = values[start:stop]
    product = np.zeros(int(tally[FEATURES]))
    scale = 1.0 / (settings[R] + _multiply(dense, work[INDEX], x, product))
    return _predict(dense, work, x, product, scale, lambda_at(tally[STEP] + 1.0, tally, settings), settings)


@part
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
    if tally[FEATURES] > dense.shape[1]:
        tally[OUTCOME] = TABLE_FULL
        return 0.0
    x, index = values[start:stop], work[INDEX]
    _number(rows, tally, slots, index, x.size)
    cost = begin(tally, label, settings)
    product = np.zeros(int(tally[FEATURES]))
    scale = 1.0 / (settings[R] + _multiply(dense, index, x, product))
    result = _predict(dense, work, x, product, scale, lambda_at(tally[STEP], tally, settings), settings)
    _take_in(dense, index, x, product, scale, settings[R])
    loss = label * result < 1.0
    for k in range(x.size):
        if loss and index[k] >= 0.0:
            dense[0, int(index[k])] += settings[ETA] * cost * label * x[k]
    tally[OUTCOME] = UPDATED if loss else UNCHANGED
    sample = sample_due(tally, settings)
    if sample > 0:
        found = np.empty((3, sample))
        survey(rows, dense, tally, settings, found[0], found[1], found[2])
        tally[LAMBDA] = quantile(found[1], settings[TARGET])
    return result


@part
def _number(rows: Floats, tally: Floats, slots: Keys, index: Floats, count: int) -> None:
    """Give the features that were admitted just now the next numbers."""
    sink = np.uint64(rows.size) - np.uint64(WIDTH)
    following = tally[FEATURES]
    for k in range(count):
        following -= 1.0 if slots[k] != sink and index[k] < 0.0 else 0.0
    for k in range(count):
        if slots[k] != sink and index[k] < 0.0:
            index[k] = rows[slots[k] + np.uint64(1)] = following
            following += 1.0


@part
def _multiply(dense: Floats, index: Floats, x: Floats, product: Floats) -> float:
    """A^-1 x into `product`; return x' A^-1 x."""
    for k in range(x.size):
        if index[k] >= 0.0:
            row = dense[1 + int(index[k])]
            for j in range(product.size):
                product[j] += row[j] * x[k]
    energy = 0.0
    for k in range(x.size):
        energy += (product[int(index[k])] if index[k] >= 0.0 else x[k]) * x[k]
    return energy


@part
def _take_in(dense: Floats, index: Floats, x: Floats, product: Floats, scale: float, r: float) -> None:
    """Bring x into A^-1 in Joseph's form, (I - k x') A^-1 (I - k x')' + r k k', with the gain k.

    But for rounding the second half adds 0; it keeps a large value from cancelling a feature to death.
    """
    outside = 0.0
    for k in range(x.size):
        outside += x[k] * x[k] if index[k] < 0.0 else 0.0
    for i in range(product.size):
        gain, row = product[i] * scale, dense[1 + i]
        for j in range(product.size):
            row[j] -= gain * product[j]
        rest = gain * (r + outside)
        for k in range(x.size):
            if index[k] >= 0.0:
                rest -= row[int(index[k])] * x[k]
        for j in range(product.size):
            row[j] += rest * (product[j] * scale)


@part
def _theta(dense: Floats, size: int, threshold: float, on_theta: bool) -> Floats:  # noqa: FBT001
    """Theta, soft if the threshold is on it."""
    theta = dense[0, :size].copy()
    if on_theta:
        for j in range(size):
            theta[j] = soft(theta[j], threshold)
    return theta


@part
def _along(row: Floats, theta: Floats) -> float:
    """row.theta in one chain: coordinates that are added later at the end are 0 and change no bit."""
    result = 0.0
    for j in range(theta.size):
        result += row[j] * theta[j]
    return result


@part
def _predict(
    dense: Floats, work: Floats, x: Floats, product: Floats, scale: float, threshold: float, settings: Floats
) -> float:
    """Leave w of the example's features in `work`, with x in A^-1 but without writing it; return w.x."""
    index, weights, on_theta = work[INDEX], work[WEIGHT], settings[ON_THETA] == 1.0
    theta = _theta(dense, product.size, threshold, on_theta)
    along = _along(product, theta) * scale
    for k in range(x.size):
        u = -x[k] * along  # a new feature: bound to the others by this very example
        if index[k] >= 0.0:
            i = int(index[k])
            u = _along(dense[1 + i], theta) - product[i] * along
        weights[k] = u if on_theta else soft(u, threshold)
    return dot(work, WEIGHT, x)
