"""Regret against the length of the sequence: above with rates tuned to it, below with a fixed one."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from matplotlib.axes import Axes

from experiments.figures.style import GREY, LOOKS, legend_below, page
from experiments.regret.theorems import THEOREMS, Compared, second_order_bound, second_order_rate
from experiments.studies.regret import TUNED, Regret
from kernels.arrays import Floats

DIMENSIONS: Final = 20  # those of the figure; the table has all
FIXED: Final = "1"
TITLES: Final = {"noisy": "10% of labels wrong", "separable": "separable", "coins": "labels by coin flips"}
BOUNDS: Final = {"fsol": "bound of the theorem on FSOL", "ssol-full": "bound of the theorem on SSOL"}
BEHIND: Final = {"ssol-full": {"linewidth": 3.5, "markersize": 9.0}}  # to be seen where the diagonal does the same
HELD: Final = "the same, if D did not grow: O(log T)"
FLOOR: Final = "no learner is below (on average)"


def draw(results: Sequence[Regret], path: Path) -> None:
    """One column for each sequence; bands reach from the lowest to the highest seed."""
    shown = [each for each in results if each.dimensions == DIMENSIONS]
    with page(path, rows=2, columns=len(shown), legend_rows=3, sharex="col", panel=(3.9, 3.3)) as (figure, panels):
        above, below = panels[: len(shown)], panels[len(shown) :]
        for axes, result in zip(above, shown, strict=True):
            axes.set_title(f"{TITLES[result.sequence]}, d = {result.dimensions}")
            _regrets(axes, result, TUNED)
            _bounds(axes, result)
        for axes, result in zip(below, shown, strict=True):
            _regrets(axes, result, FIXED)
            _slope(axes, result)
            axes.set_xlabel("rounds T")
        above[0].set_ylabel("regret (hinge loss)\n$\\eta$ tuned to T")
        below[0].set_ylabel(f"regret (hinge loss)\n$\\eta$ = {FIXED}")
        legend_below(figure, panels, columns=3)


def _regrets(axes: Axes, result: Regret, rate: str) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    for algorithm in THEOREMS:
        regrets, look = np.array(result.curve(algorithm, rate).regrets), LOOKS[algorithm]
        axes.fill_between(result.horizons, regrets.min(axis=0), regrets.max(axis=0), **look.band)
        axes.plot(result.horizons, regrets.mean(axis=0), **look.line, **BEHIND.get(algorithm, {}))


def _bounds(axes: Axes, result: Regret) -> None:
    for algorithm, label in BOUNDS.items():
        bound = np.array(result.curve(algorithm, TUNED).bounds).mean(axis=0)
        axes.plot(result.horizons, bound, color=LOOKS[algorithm].colour, linestyle="--", label=label)
    axes.plot(result.horizons, _held(result), color=LOOKS["ssol-full"].colour, linestyle=":", label=HELD)
    if result.floor is not None:
        axes.plot(result.horizons, result.floor, color=GREY, linestyle="-.", label=FLOOR)


def _held(result: Regret) -> Floats:
    """The bound on SSOL at its best rate, with the D of the first horizon."""
    energy = float(np.mean([own[0] for own in result.hindsight.energies]))
    to = [Compared(count, result.dimensions, 0.0, energy) for count in result.horizons]
    return np.array([second_order_bound(each, second_order_rate(each)) for each in to])


def _slope(axes: Axes, result: Regret) -> None:
    """How regret grows that is in proportion to T."""
    ends = np.array([result.horizons[0], result.horizons[-1]])
    axes.plot(ends, 0.1 * ends, color=GREY, linestyle=(0, (1, 2)), label="in proportion to T")
