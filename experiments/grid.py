"""Choosing settings: cross-validation at lambda 0 over powers of two, on the paper's grid and beyond its edges."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from typing import Final

import msgspec
import numpy as np

from experiments.learners import RATE, Learner
from experiments.playing import play
from experiments.stored import Block

Point = tuple[int, ...]  # exponents of 2
Fold = tuple[list[Block], list[Block]]  # to learn, and to be tested on
FOLDS: Final = 5
RATES: Final = range(-1, 10)
OTHERS: Final = range(-5, 6)
FARTHEST: Final = 16  # no search goes beyond 2^-16 and 2^16
STAYING: Final = 0.2  # of the points, after the first fold
STAYING_AT_LEAST: Final = 8
HOPELESS: Final = 1.2  # times the best loss in the first fold: a neighbour that is so much worse is looked at no more


class Tried(msgspec.Struct, frozen=True):
    """A setting and its loss (error, or 1 - balanced accuracy) in each fold that it was tried on."""

    setting: dict[str, float]
    losses: list[float]


class Chosen(msgspec.Struct, frozen=True):
    """The best of a search, all that was tried, and what of it lies at the edge of the grid."""

    setting: dict[str, float]
    loss: float
    at_edge: list[str]
    tried: list[Tried]


@dataclass(frozen=True, slots=True)
class Search:
    """A learner's losses on the folds; each is looked at only once."""

    learner: Learner
    folds: Sequence[Fold]
    balanced: bool
    known: dict[tuple[Point, int], float] = field(default_factory=dict)

    def on_grid(self, step: int = 1) -> Chosen:
        """The paper's grid (of every so many powers): all of it on the first fold, the best fifth on all."""
        axes = [range_of(kind)[::step] for kind in self.learner.tuned.values()]
        points = sorted(product(*axes), key=lambda point: self._loss(point, 0))
        staying = points[: max(STAYING_AT_LEAST, math.ceil(STAYING * len(points)))]
        return self._chosen(min(staying, key=self._mean), points, [(axis[0], axis[-1]) for axis in axes])

    def beyond(self, start: dict[str, float]) -> Chosen:
        """From there step by step to a better neighbour, until there is none."""
        here = tuple(round(math.log2(start[name])) for name in self.learner.tuned)
        seen = {here}
        while True:
            around = [point for point in _neighbours(here) if self._is_hopeful(point, here)]
            seen.update(_neighbours(here))
            best = min([here, *around], key=self._mean)  # the first of several: it stays where it is
            if best == here:
                return self._chosen(here, seen, [(-FARTHEST, FARTHEST)] * len(here))
            here = best

    def _chosen(self, best: Point, points: Iterable[Point], ends: Sequence[tuple[int, int]]) -> Chosen:
        at_edge = [name for name, at, end in zip(self.learner.tuned, best, ends, strict=True) if at in end]
        tried = [self._tried(point) for point in sorted(points)]
        return Chosen(setting_of(self.learner, best), self._mean(best), at_edge, tried)

    def _tried(self, point: Point) -> Tried:
        losses = [self.known[point, fold] for fold in range(len(self.folds)) if (point, fold) in self.known]
        return Tried(setting_of(self.learner, point), losses)

    def _is_hopeful(self, point: Point, here: Point) -> bool:
        return self._loss(point, 0) <= HOPELESS * self._loss(here, 0)

    def _mean(self, point: Point) -> float:
        return sum(self._loss(point, fold) for fold in range(len(self.folds))) / len(self.folds)

    def _loss(self, point: Point, fold: int) -> float:
        if (point, fold) not in self.known:
            run = play({**self.learner.options, **setting_of(self.learner, point)}, *self.folds[fold])
            self.known[point, fold] = 1.0 - (run.balanced or 0.0) if self.balanced else run.error
        return self.known[point, fold]


def folds_of(block: Block, count: int = FOLDS) -> list[Fold]:
    """Each part is held out once. Parts are views of the examples: nothing is copied."""
    ends = np.linspace(0, len(block), count + 1).astype(np.int64).tolist()
    return [
        ([block.part(0, first), block.part(last, len(block))], [block.part(first, last)])
        for first, last in pairwise(ends)
    ]


def range_of(kind: str) -> range:
    """The paper's exponents."""
    return RATES if kind == RATE else OTHERS


def setting_of(learner: Learner, point: Point) -> dict[str, float]:
    """The values at a point of the grid."""
    return {name: 2.0**exponent for name, exponent in zip(learner.tuned, point, strict=True)}


def _neighbours(here: Point) -> list[Point]:
    moves = product((-1, 0, 1), repeat=len(here))
    found = [tuple(at + by for at, by in zip(here, move, strict=True)) for move in moves if any(move)]
    return [point for point in found if max(map(abs, point)) <= FARTHEST]
