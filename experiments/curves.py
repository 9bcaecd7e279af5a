"""Reading a curve: what a learner reaches at a sparsity between those that were measured."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

import numpy as np

from experiments.fitting import Fit, Fits, Point
from experiments.playing import Run
from experiments.tracing import tolerance

Figure = Callable[[Run], float]  # which figure of a run is looked at


@dataclass(frozen=True, slots=True)
class Value:
    """Mean and standard deviation over the repeats."""

    mean: float
    deviation: float

    def __str__(self) -> str:
        """In percent."""
        return f"{100 * self.mean:.2f} ± {100 * self.deviation:.2f}"


def error(run: Run) -> float:
    """Its error rate."""
    return run.error


def balanced(run: Run) -> float:
    """Its balanced accuracy; both classes are in every test of ours."""
    assert run.balanced is not None
    return run.balanced


def value_of(point: Point, figure: Figure) -> Value:
    """One lambda."""
    found = [figure(run) for run in point.runs]
    return Value(fmean(found), stdev(found) if len(found) > 1 else 0.0)


def sparsity_of(point: Point) -> float:
    """The mean over the repeats."""
    return fmean(run.sparsity for run in point.runs)


def at(curve: Sequence[Point], level: float | None, figure: Figure) -> Value | None:
    """At a sparsity: at the point that was meant for it, else between the two around it; None: at lambda 0.

    The result is None if it was not reached. Near a cliff a line between two points would tell of neither.

    A learner that is sparser than that by itself is taken as it is; so is one that knows no lambda.
    """
    points = sorted(curve, key=sparsity_of)
    if level is None or len(points) == 1:
        return value_of(min(curve, key=lambda point: point.strength), figure)
    places = [sparsity_of(point) for point in points]
    closest = min(points, key=lambda point: abs(sparsity_of(point) - level))
    if abs(sparsity_of(closest) - level) <= tolerance(level):
        return value_of(closest, figure)
    if level > places[-1]:
        return None
    values = [value_of(point, figure) for point in points]
    means, deviations = [value.mean for value in values], [value.deviation for value in values]
    return Value(float(np.interp(level, places, means)), float(np.interp(level, places, deviations)))


def fit_on(fits: Fits, grid: str) -> Fit:
    """What the grid has led to; both may have chosen the same."""
    return next((fit for fit in fits.fits if fit.grid == grid), fits.fits[0])


def by_learner(found: Mapping[str, Fits], name: str) -> dict[str, Fits]:
    """All learners on a set."""
    return {fits.learner: fits for fits in found.values() if fits.set == name}


def sets_in(found: Mapping[str, Fits]) -> list[str]:
    """The sets that were played, in order."""
    return list(dict.fromkeys(fits.set for fits in found.values()))
