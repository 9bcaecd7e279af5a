"""The five entries of every algorithm, compiled around its own functions.

    score(rows, dense, totals, keys, values, settings, weights) -> score
    scores(rows, dense, totals, keys, values, starts, settings, results)
    learn(rows, dense, totals, keys, values, label, settings) -> score
    stream(rows, dense, totals, keys, values, starts, labels, settings, scores, first) -> next
    survey(rows, dense, totals, settings, weights, sizes, evidence)

`rows` is the feature table and `dense` the matrix of algorithms that keep one; `totals` and `settings` are flat arrays
with the places of `totals.py` and `options.py`. Examples are canonical: keys ascending and unique, values finite and
not 0. Several examples come in CSR form: example i has the keys and values from `starts[i]` to `starts[i + 1]`.
"""

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from kernels.arrays import Floats, Ints, Keys
from kernels.compiler import inlined_no_refcount, kernel, named
from kernels.learner.options import TARGET
from kernels.learner.steps import SMALLEST_SCALE, is_due, lambda_at, longest, quantile, sample_due
from kernels.learner.totals import GRAVITY, LAMBDA, OUTCOME, SCALE, STEP, TABLE_FULL
from kernels.table.rows import EMPTY, START

Part = Callable[..., Any]


def entries(
    name: str,
    state: Mapping[str, float],
    options: AbstractSet[str],
    score_one: Part,
    learn_one: Part,
    weigh: Part,
    rescale: Part,
) -> tuple[Part, Part, Part, Part, Part]:
    """Return `score`, `scores`, `learn`, `stream` and `survey` of the algorithm."""
    names = [*state] if "w" in state else [*state, "w"]  # rows of `work`
    survey = _survey(name, len(state) + 1, weigh)
    due, maintain = _never, _nothing
    if "target_sparsity" in options:
        due, maintain = is_due, _maintenance(name, state, survey, rescale)
    score, scores = _scorers(name, len(names), names.index("w"), score_one)
    learn, stream = _learners(name, len(names), learn_one, due, maintain)
    return score, scores, learn, stream, survey


def _scorers(name: str, height: int, w: int, score_one: Part) -> tuple[Part, Part]:
    @kernel
    @named(name)
    def score(
        rows: Floats, dense: Floats, totals: Floats, keys: Keys, values: Floats, settings: Floats, weights: Floats
    ) -> float:
        """Score one example without writing; leave the weight of each of its features in `weights`."""
        slots, work = np.empty(keys.size, np.uint64), np.empty((height, keys.size))
        result: float = score_one(rows, dense, totals, keys, values, START, keys.size, settings, slots, work)
        weights[:] = work[w]
        return result

    @kernel
    @named(name)
    def scores(
        rows: Floats,
        dense: Floats,
        totals: Floats,
        keys: Keys,
        values: Floats,
        starts: Ints,
        settings: Floats,
        results: Floats,
    ) -> None:
        """Score several examples without writing, each as `score` does."""
        slots, work = np.empty(longest(starts), np.uint64), np.empty((height, longest(starts)))
        for i in range(results.size):
            start, stop = starts[i], starts[i + 1]
            results[i] = score_one(rows, dense, totals, keys, values, start, stop, settings, slots, work)

    return score, scores


def _learners(name: str, height: int, learn_one: Part, due: Part, maintain: Part) -> tuple[Part, Part]:
    @kernel
    @named(name)
    def learn(
        rows: Floats, dense: Floats, totals: Floats, keys: Keys, values: Floats, label: float, settings: Floats
    ) -> float:
        """Learn one example in place; return the score it had before."""
        slots, work = np.empty(keys.size, np.uint64), np.empty((height, keys.size))
        result: float = learn_one(rows, dense, totals, keys, values, START, keys.size, label, settings, slots, work)
        if due(totals, settings):
            maintain(rows, dense, totals, settings)
        return result

    @kernel
    @named(name)
    def stream(
        rows: Floats,
        dense: Floats,
        totals: Floats,
        keys: Keys,
        values: Floats,
        starts: Ints,
        labels: Floats,
        settings: Floats,
        scores: Floats,
        first: int,
    ) -> int:
        """Test, then train, example by example from `first` on; return where it stopped because the table must grow."""
        slots, work = np.empty(longest(starts), np.uint64), np.empty((height, longest(starts)))
        for i in range(first, labels.size):
            start, stop, label = starts[i], starts[i + 1], labels[i]
            scores[i] = learn_one(rows, dense, totals, keys, values, start, stop, label, settings, slots, work)
            if totals[OUTCOME] == TABLE_FULL:
                return i
            if due(totals, settings):
                maintain(rows, dense, totals, settings)
        return labels.size

    return learn, stream


def _survey(name: str, width: int, weigh: Part) -> Part:
    @kernel
    @named(name)
    def survey(
        rows: Floats, dense: Floats, totals: Floats, settings: Floats, weights: Floats, sizes: Floats, evidence: Floats
    ) -> None:
        """Weight, size before the threshold and evidence of the table's first rows, as many as there is room for."""
        bits = rows.view(np.uint64)
        lambda_t = lambda_at(totals[STEP], totals, settings)
        found = 0
        for at in range(0, rows.size, width):
            if found == weights.size:
                return
            if bits[at] == EMPTY:
                continue
            weights[found], sizes[found], evidence[found] = weigh(rows, dense, at, totals, lambda_t, settings)
            found += 1

    return survey


def _maintenance(name: str, state: Mapping[str, float], survey: Part, rescale: Part) -> Part:
    width, shrinks_lazily = len(state) + 1, "touched" in state

    @kernel
    @named(name)
    def maintain(rows: Floats, dense: Floats, totals: Floats, settings: Floats) -> None:
        """Do what is due now and then: rescale the rows, and find the threshold for the target sparsity."""
        if totals[SCALE] < SMALLEST_SCALE:
            rescale(rows, width, totals)
        sample = sample_due(totals, settings)
        if sample > 0:
            found = np.empty((3, sample))
            survey(rows, dense, totals, settings, found[0], found[1], found[2])
            threshold = quantile(found[1], settings[TARGET])
            if shrinks_lazily:
                totals[GRAVITY] += threshold
            else:
                totals[LAMBDA] = threshold

    return maintain


@inlined_no_refcount
def _never(totals: Floats, settings: Floats) -> bool:
    return False


@inlined_no_refcount
def _nothing(rows: Floats, dense: Floats, totals: Floats, settings: Floats) -> None:
    pass
