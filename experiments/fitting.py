"""One learner on one set, from the choice of its settings to its curve: test error against sparsity."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
import numpy as np

from experiments.grid import Chosen, Search, folds_of
from experiments.learners import LEARNERS, Learner, Setting
from experiments.playing import Run, play
from experiments.splits import Split
from experiments.stored import Block
from experiments.tracing import lambdas

GRID_SEED: Final = 1_000


class Point(msgspec.Struct, frozen=True):
    """One lambda; a run for each repeat."""

    strength: float
    runs: list[Run]


class Fit(msgspec.Struct, frozen=True):
    """Settings that were chosen on a grid, and what came of them."""

    grid: str  # "paper" or "wider"
    chosen: Chosen
    curve: list[Point]


class Fits(msgspec.Struct, frozen=True):
    """A learner on a set."""

    set: str
    learner: str
    train_examples: int
    test_examples: int
    grid_examples: int
    fits: list[Fit]  # the wider grid's too, if it has chosen something else


def fit(  # noqa: PLR0913 - the arguments of a task
    folder: str,
    learner: str,
    options: Setting,
    *,
    rare: bool,
    l2: bool,
    repeats: int,
    levels: list[float],
    grid_nonzeros: int,
    grid_step: int,
) -> Fits:
    """Choose settings, then learn each permutation at each lambda; `options` replace some of the learner's own."""
    split = Split.open(folder, rare=rare, l2=l2)
    who = LEARNERS[learner].changed(options)
    paper, wider, grid_examples = settings_of(who, split, grid_nonzeros, grid_step)
    chosen = {"paper": paper} if wider.setting == paper.setting else {"paper": paper, "wider": wider}
    found = curves(who, [each.setting for each in chosen.values()], split, repeats, levels)
    fits = [Fit(grid, each, curve) for (grid, each), curve in zip(chosen.items(), found, strict=True)]
    return Fits(split.name, learner, split.rows(0).size, split.test_rows.size, grid_examples, fits)


def curves(
    learner: Learner, settings: Sequence[dict[str, float]], split: Split, repeats: int, levels: Sequence[float]
) -> list[list[Point]]:
    """A curve for each setting: lambdas are found on the first permutation, and the others then play them.

    Only one permutation is held in memory at a time.
    """
    options: list[Setting] = [{**learner.options, **setting} for setting in settings]
    tests, train = split.tests(), split.learnt(0)
    found = [_first(each, train, tests, levels if learner.is_sparse else []) for each in options]
    for repeat in range(1, repeats):
        train = split.learnt(repeat)
        for each, points in zip(options, found, strict=True):
            for strength, runs in points.items():
                runs.append(play(_with(each, strength), train, tests))
    return [[Point(strength, runs) for strength, runs in points.items()] for points in found]


def _first(
    options: Setting, train: Iterable[Block], tests: Iterable[Block], levels: Sequence[float]
) -> dict[float, list[Run]]:
    """The first permutation's run at each lambda that leads to a level."""
    known: dict[float, Run] = {}

    def sparsity_at(strength: float) -> float:
        known[strength] = play(_with(options, strength), train, tests)
        return known[strength].sparsity

    chosen = lambdas(sparsity_at, levels) if levels else [0.0]
    return {strength: [known.get(strength) or play(options, train, tests)] for strength in chosen}


def _with(options: Setting, strength: float) -> Setting:
    return {**options, "lambda": strength} if strength else options


def settings_of(learner: Learner, split: Split, nonzeros: int, step: int) -> tuple[Chosen, Chosen, int]:
    """What the paper's grid leads to, what lies beyond its edges, and on how many examples that was tried."""
    rows = split.rows(GRID_SEED)
    count = int(np.searchsorted(np.cumsum(np.diff(split.train.starts)[rows]), nonzeros, side="right"))
    (block,) = split.train.blocks(rows[:count], l2=split.l2, nonzeros=nonzeros)
    search = Search(learner, folds_of(block), split.rare)
    paper = search.on_grid(step)
    return paper, search.beyond(paper.setting), len(block)
