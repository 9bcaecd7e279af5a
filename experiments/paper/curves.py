"""Curves of one learner on one set, test error against sparsity, and values read from them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean, stdev
from typing import Final, NamedTuple

import msgspec
import numpy as np

from experiments.examples import Examples
from experiments.paper.evaluation import Run, Split, play
from experiments.paper.protocol import LEARNERS, Setting
from experiments.paper.search import Chosen, Search, folds_of, lambdas, tolerance

GRID_SEED: Final = 1_000
Figure = Callable[[Run], float]  # a figure of a run


class Point(msgspec.Struct, frozen=True):
    """One lambda, with a run for each repeat."""

    strength: float
    runs: list[Run]

    @property
    def sparsity(self) -> float:
        return fmean(run.sparsity for run in self.runs)

    def value(self, figure: Figure) -> "Value":
        found = [figure(run) for run in self.runs]
        return Value(fmean(found), stdev(found) if len(found) > 1 else 0.0)


class Fit(msgspec.Struct, frozen=True):
    """The settings that a grid led to, and their curve."""

    grid: str  # "paper" or "wider"
    chosen: Chosen
    curve: list[Point]

    def setting_at(self, level: float) -> dict[str, float]:
        point = min(self.curve, key=lambda each: abs(each.runs[0].sparsity - level))
        return {**self.chosen.setting, "lambda": point.strength}


class Fits(msgspec.Struct, frozen=True):
    """A learner on a set."""

    set: str
    learner: str
    fits: list[Fit]  # of the wider grid only if it led to other settings

    def on(self, grid: str) -> Fit:
        return next((fit for fit in self.fits if fit.grid == grid), self.fits[0])

    def at(self, grid: str, level: float | None, figure: Figure) -> "Value | None":
        """Read the curve of a grid at a sparsity, or at lambda 0 for None; None if the sparsity was not reached.

        A point within tolerance counts as it is; else the value lies between two points. Near a cliff, interpolation
        would describe neither side. A learner without lambda, or sparser at lambda 0, has its value everywhere.
        """
        points = sorted(self.on(grid).curve, key=lambda point: point.sparsity)
        if level is None or len(points) == 1:
            return min(self.on(grid).curve, key=lambda point: point.strength).value(figure)
        closest = min(points, key=lambda point: abs(point.sparsity - level))
        if abs(closest.sparsity - level) <= tolerance(level):
            return closest.value(figure)
        places = [point.sparsity for point in points]
        if level > places[-1]:
            return None
        means, deviations = zip(*(point.value(figure) for point in points), strict=True)
        return Value(float(np.interp(level, places, means)), float(np.interp(level, places, deviations)))


class Value(NamedTuple):
    """Mean and standard deviation over the repeats."""

    mean: float
    deviation: float

    def __str__(self) -> str:
        return f"{100 * self.mean:.2f} ± {100 * self.deviation:.2f}"


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
    changed = LEARNERS[learner].changed(options)
    rows = split.rows(GRID_SEED)
    count = int(np.searchsorted(np.cumsum(np.diff(split.train.starts)[rows]), grid_nonzeros, side="right"))
    (block,) = split.train.blocks(rows[:count], l2=l2, nonzeros=grid_nonzeros)
    search = Search(changed, folds_of(block), rare)
    paper = search.on_grid(grid_step)
    wider = search.beyond(paper.setting)
    chosen = {"paper": paper} if wider.setting == paper.setting else {"paper": paper, "wider": wider}
    settings = [{**changed.options, **each.setting} for each in chosen.values()]
    found = _curves(settings, split, repeats, levels if changed.is_sparse else [])
    fits = [Fit(grid, each, curve) for (grid, each), curve in zip(chosen.items(), found, strict=True)]
    return Fits(split.name, learner, fits)


def error(run: Run) -> float:
    return run.error


def balanced(run: Run) -> float:
    """Return the balanced accuracy; every test has both classes."""
    assert run.balanced is not None
    return run.balanced


def by_learner(found: Mapping[str, Fits], name: str) -> dict[str, Fits]:
    return {fits.learner: fits for fits in found.values() if fits.set == name}


def sets_in(found: Mapping[str, Fits]) -> list[str]:
    return list(dict.fromkeys(fits.set for fits in found.values()))


def _curves(settings: list[Setting], split: Split, repeats: int, levels: Sequence[float]) -> list[list[Point]]:
    """Find lambdas on the first permutation and play them on the others; one permutation at a time is in memory."""
    tests, train = split.tested(), split.trained(0)
    found = [_first(each, train, tests, levels) for each in settings]
    for repeat in range(1, repeats):
        train = split.trained(repeat)
        for each, points in zip(settings, found, strict=True):
            for strength, runs in points.items():
                runs.append(_play(each, strength, train, tests))
    return [[Point(strength, runs) for strength, runs in points.items()] for points in found]


def _first(
    setting: Setting, train: Iterable[Examples], tests: Iterable[Examples], levels: Sequence[float]
) -> dict[float, list[Run]]:
    known: dict[float, Run] = {}

    def sparsity_at(strength: float) -> float:
        known[strength] = _play(setting, strength, train, tests)
        return known[strength].sparsity

    if not levels:
        sparsity_at(0.0)
    return {strength: [known[strength]] for strength in (lambdas(sparsity_at, levels) if levels else known)}


def _play(setting: Setting, strength: float, train: Iterable[Examples], tests: Iterable[Examples]) -> Run:
    return play({**setting, "lambda": strength} if strength else setting, train, tests)
