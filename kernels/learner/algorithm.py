"""How an algorithm is built from the functions that are its own."""

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from kernels.arrays import Floats, Keys
from kernels.compiler import inlined_no_refcount, named
from kernels.learner.entries import entries
from kernels.learner.options import KEEP
from kernels.learner.steps import IMBALANCE_HALVED, begin, lambda_at, rescale_sums
from kernels.learner.totals import OUTCOME, SCALE, STEP, UNCHANGED, UPDATED
from kernels.registry import Algorithm
from kernels.table.rows import enter, gather

Part = Callable[..., Any]  # a function that is compiled into the entries
FeatureWeight = tuple[float, float, float]  # weight, size before the threshold, evidence


def sparse_algorithm(
    name: str,
    state: Mapping[str, float],
    options: AbstractSet[str],
    defaults: Mapping[str, float | str],
    *,
    score: Part,
    step: Part,
    weigh: Part,
    rescale: Part = rescale_sums,
    loss: str = "hinge",
    imbalance_halved: float = IMBALANCE_HALVED,
) -> Algorithm:
    """Build an algorithm whose whole state is in the rows of an example's features.

    state   names what a row holds, with the value for a new feature
    score   (work, totals, x, scale, lambda_t, settings) -> w.x                 leaves w in `work`; writes nothing else
    step    (rows, slots, work, totals, x, y, cost, score, settings) -> bool    learns; True if a weight changed
    weigh   (rows, dense, at, totals, lambda_t, settings) -> FeatureWeight      reads the row that begins at `at`
    rescale (rows, width, totals)                                               multiplies SCALE into every row

    Row j of `work` holds state number j of the example's features; w gets a row after them unless it is a state.
    """
    fresh = tuple(state.values())

    @inlined_no_refcount
    @named(name)
    def score_one(
        rows: Floats,
        dense: Floats,
        totals: Floats,
        keys: Keys,
        values: Floats,
        start: int,
        stop: int,
        settings: Floats,
        slots: Keys,
        work: Floats,
    ) -> float:
        """Score `keys[start:stop]` without writing; leave w in `work`."""
        gather(rows, totals, keys, start, stop, slots, work, fresh)
        lambda_t = lambda_at(totals[STEP] + 1.0, totals, settings)
        return score(work, totals, values[start:stop], totals[SCALE] * settings[KEEP], lambda_t, settings)

    @inlined_no_refcount
    @named(name)
    def learn_one(
        rows: Floats,
        dense: Floats,
        totals: Floats,
        keys: Keys,
        values: Floats,
        start: int,
        stop: int,
        y: float,
        settings: Floats,
        slots: Keys,
        work: Floats,
    ) -> float:
        """Learn `keys[start:stop]`; return the score from before, or set TABLE_FULL if the table must grow first."""
        if not enter(rows, totals, keys, start, stop, slots, work, fresh, settings):
            return 0.0
        cost = begin(totals, y, settings)
        x = values[start:stop]
        result: float = score(work, totals, x, totals[SCALE], lambda_at(totals[STEP], totals, settings), settings)
        changed = step(rows, slots, work, totals, x, y, cost, result, settings)
        totals[OUTCOME] = UPDATED if changed else UNCHANGED
        return result

    return algorithm(name, state, options, defaults, score_one, learn_one, weigh, rescale, loss, imbalance_halved)


def algorithm(
    name: str,
    state: Mapping[str, float],
    options: AbstractSet[str],
    defaults: Mapping[str, float | str],
    score_one: Part,
    learn_one: Part,
    weigh: Part,
    rescale: Part = rescale_sums,
    loss: str = "hinge",
    imbalance_halved: float = IMBALANCE_HALVED,
) -> Algorithm:
    """Build an algorithm from functions that find an example's rows themselves, and score or learn it."""
    score, scores, learn, stream, survey = entries(name, state, options, score_one, learn_one, weigh, rescale)
    return Algorithm(
        state=tuple(state),
        fresh=tuple(state.values()),
        options=frozenset(options),
        defaults=defaults,
        loss=loss,
        imbalance_halved=imbalance_halved,
        score=score,
        scores=scores,
        learn=learn,
        stream=stream,
        survey=survey,
    )
