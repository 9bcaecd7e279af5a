"""Search for settings by cross-validation, and for the lambdas that lead to given sparsities."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from typing import Final

import msgspec
import numpy as np

from experiments.examples import Examples
from experiments.paper.evaluation import play
from experiments.paper.protocol import RATE, Learner

Point = tuple[int, ...]  # exponents of 2
Fold = tuple[list[Examples], list[Examples]]  # training and test examples
FOLDS: Final = 5
RATES: Final = range(-1, 10)
OTHERS: Final = range(-5, 6)
FARTHEST: Final = 16  # no search goes beyond 2^-16 and 2^16
STAYING: Final = 0.2  # of the points, after the first fold
STAYING_AT_LEAST: Final = 8
HOPELESS: Final = 1.2  # times the loss in the first fold: a neighbour that is so much worse is dropped

Sparsity = Callable[[float], float]
FIRST: Final = 1e-3
FACTOR: Final = 16.0
LEAST: Final = 1e-12
MOST: Final = 1e9
STEPS: Final = 7  # of bisection, for one level


class Chosen(msgspec.Struct, frozen=True):
    """The best setting of a search, its parameters at the edge of the grid, and the number of settings tried."""

    setting: dict[str, float]
    loss: float  # error, or 1 - balanced accuracy
    at_edge: list[str]
    tried: int


@dataclass(frozen=True, slots=True)
class Search:
    """The losses of a learner on the folds, each computed once."""

    learner: Learner
    folds: Sequence[Fold]
    balanced: bool
    known: dict[tuple[Point, int], float] = field(default_factory=dict)

    def on_grid(self, step: int = 1) -> Chosen:
        """Search every `step`-th point of the paper's grid: all on the first fold, the best fifth on all folds."""
        axes = [(RATES if kind == RATE else OTHERS)[::step] for kind in self.learner.tuned.values()]
        points = sorted(product(*axes), key=lambda point: self._loss(point, 0))
        staying = points[: max(STAYING_AT_LEAST, math.ceil(STAYING * len(points)))]
        return self._chosen(min(staying, key=self._mean), len(points), [(axis[0], axis[-1]) for axis in axes])

    def beyond(self, start: dict[str, float]) -> Chosen:
        """Go step by step to a better neighbour, until there is none."""
        here = tuple(round(math.log2(start[name])) for name in self.learner.tuned)
        seen = {here}
        while True:
            moves = product((-1, 0, 1), repeat=len(here))
            neighbours = [tuple(at + by for at, by in zip(here, move, strict=True)) for move in moves if any(move)]
            neighbours = [point for point in neighbours if max(map(abs, point)) <= FARTHEST]
            around = [point for point in neighbours if self._loss(point, 0) <= HOPELESS * self._loss(here, 0)]
            seen.update(neighbours)
            best = min([here, *around], key=self._mean)  # the first of several: it stays in place
            if best == here:
                return self._chosen(here, len(seen), [(-FARTHEST, FARTHEST)] * len(here))
            here = best

    def _chosen(self, best: Point, tried: int, ends: Sequence[tuple[int, int]]) -> Chosen:
        at_edge = [name for name, at, end in zip(self.learner.tuned, best, ends, strict=True) if at in end]
        return Chosen(self._setting(best), self._mean(best), at_edge, tried)

    def _setting(self, point: Point) -> dict[str, float]:
        return {name: 2.0**exponent for name, exponent in zip(self.learner.tuned, point, strict=True)}

    def _mean(self, point: Point) -> float:
        return sum(self._loss(point, fold) for fold in range(len(self.folds))) / len(self.folds)

    def _loss(self, point: Point, fold: int) -> float:
        if (point, fold) not in self.known:
            run = play({**self.learner.options, **self._setting(point)}, *self.folds[fold])
            self.known[point, fold] = 1.0 - (run.balanced or 0.0) if self.balanced else run.error
        return self.known[point, fold]


def folds_of(examples: Examples, count: int = FOLDS) -> list[Fold]:
    """Hold each part out once, without copying examples."""
    ends = np.linspace(0, len(examples), count + 1).astype(np.int64).tolist()
    return [
        ([examples.between(0, first), examples.between(last, len(examples))], [examples.between(first, last)])
        for first, last in pairwise(ends)
    ]


def lambdas(sparsity_at: Sparsity, levels: Sequence[float]) -> list[float]:
    """Return for each level the lambda whose sparsity came closest: ascending, distinct, with 0."""
    known: dict[float, float] = {}

    def at(strength: float) -> float:
        if strength not in known:
            known[strength] = sparsity_at(strength)
        return known[strength]

    at(0.0)
    strength = FIRST
    while at(strength) < max(levels) and strength < MOST:
        strength *= FACTOR
    strength = FIRST
    low = max(min(levels), known[0.0] + tolerance(min(levels)))  # some weights are 0 at any lambda
    while at(strength) > low and strength > LEAST:
        strength /= FACTOR
    for level, _ in product(levels, range(STEPS)):
        below = max((s for s in known if known[s] <= level), default=0.0)
        above = min((s for s in known if known[s] > level and s > below), default=math.inf)
        closest = min(abs(found - level) for found in known.values())
        if closest > tolerance(level) and not math.isinf(above) and below > 0.0 and above / below >= 1.0 + 1e-6:
            at(math.sqrt(below * above))
    chosen = {min(known, key=lambda strength: abs(known[strength] - level)) for level in levels}
    return sorted({0.0} | chosen)


def tolerance(level: float) -> float:
    """Return how close is close enough: a tenth of what is left, since the curve is steepest at its ends."""
    return min(0.02, 0.1 * (1.0 - level))
