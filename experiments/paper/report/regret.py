"""The sections on regret, and their figure: above with rates tuned to the length, below with a fixed rate."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from statistics import fmean, stdev
from typing import Final

import numpy as np
from matplotlib.axes import Axes

from experiments.paper.regret import FIXED, TUNED, Regret
from experiments.paper.report.figures import BAND, GREY, LOOKS, legend_below, page, picture
from experiments.paper.theorems import SECOND_ORDER, THEOREMS, Compared
from load_tests.harness.report import table

DIMENSIONS: Final = 20  # those of the figure; the table has all
SHOWN_RATE: Final = "1"
TITLES: Final = {"noisy": "10% of labels wrong", "separable": "separable", "coins": "labels by coin flips"}
BOUNDS: Final = {"fsol": "bound of the theorem on FSOL", "ssol-full": "bound of the theorem on SSOL"}
BEHIND: Final = {"ssol-full": {"linewidth": 3.5, "markersize": 9.0}}  # visible where the diagonal does the same


def sections(found: Sequence[Regret], figures: Path) -> dict[str, str]:
    if not found:
        return {"regret": "", "bounds": "", "limits": ""}
    path = figures / "regret.svg"
    draw(found, path)
    growth = f"{picture(path, 'Regret against the number of rounds')}\n\n{_growth(found)}"
    return {"regret": growth, "bounds": _bounds(found), "limits": _limits(found)}


def draw(results: Sequence[Regret], path: Path) -> None:
    """Draw a column for each sequence; bands reach from the lowest to the highest seed."""
    shown = [each for each in results if each.dimensions == DIMENSIONS]
    with page(path, 2, len(shown), (3.9, 3.3), 3, sharex="col") as (figure, panels):
        for axes, result, rate in zip(panels, shown * 2, [TUNED] * len(shown) + [SHOWN_RATE] * len(shown), strict=True):
            axes.set_xscale("log")
            axes.set_yscale("log")
            for algorithm in THEOREMS:
                regrets, look = np.array(result.curve(algorithm, rate).regrets), LOOKS[algorithm]
                spread = (regrets.min(axis=0), regrets.max(axis=0))
                axes.fill_between(result.horizons, *spread, color=look.colour, alpha=BAND, linewidth=0)
                axes.plot(result.horizons, regrets.mean(axis=0), **look.line, **BEHIND.get(algorithm, {}))
            if rate == TUNED:
                axes.set_title(f"{TITLES[result.sequence]}, d = {result.dimensions}")
                _draw_bounds(axes, result)
            else:
                ends = np.array([result.horizons[0], result.horizons[-1]])
                axes.plot(ends, 0.1 * ends, color=GREY, linestyle=(0, (1, 2)), label="in proportion to T")
                axes.set_xlabel("rounds T")
        panels[0].set_ylabel("regret (hinge loss)\n$\\eta$ tuned to T")
        panels[len(shown)].set_ylabel(f"regret (hinge loss)\n$\\eta$ = {SHOWN_RATE}")
        legend_below(figure, panels, columns=3)


def _draw_bounds(axes: Axes, result: Regret) -> None:
    for algorithm, label in BOUNDS.items():
        bound = np.array(result.curve(algorithm, TUNED).bounds).mean(axis=0)
        axes.plot(result.horizons, bound, color=LOOKS[algorithm].colour, linestyle="--", label=label)
    energy = float(np.mean([own[0] for own in result.energies]))
    to = [Compared(count, result.dimensions, 0.0, energy) for count in result.horizons]
    held = np.array([SECOND_ORDER.bound(each, SECOND_ORDER.rate(each)) for each in to])  # D of the first horizon
    colour = LOOKS["ssol-full"].colour
    axes.plot(result.horizons, held, color=colour, linestyle=":", label="the same, if D did not grow: O(log T)")
    if result.floor is not None:
        axes.plot(result.horizons, result.floor, color=GREY, linestyle="-.", label="no learner is below (on average)")


def _growth(found: Sequence[Regret]) -> str:
    rows = []
    for each, algorithm in product(found, THEOREMS):
        tuned = each.curve(algorithm, TUNED)
        last = f"{fmean(own[-1] for own in tuned.regrets):,.0f}"
        late = (_exponent(each.curve(algorithm, rate).late_exponents) for rate in FIXED)
        cells = (last, f"{tuned.largest_share:.0%}", _exponent(tuned.exponents), *late)
        rows.append((_title(each), LOOKS[algorithm].name, *cells))
    fixed = (f"growth at eta {rate}, last decade" for rate in FIXED)
    last = f"regret at T = {found[0].horizons[-1]:,}, tuned"
    return table(("sequence", "algorithm", last, "of its bound, at most", "growth, tuned", *fixed), rows)


def _bounds(found: Sequence[Regret]) -> str:
    shown = found[0]
    where, first, last = _title(shown), shown.horizons[0], shown.horizons[-1]
    rows = []
    for name in BOUNDS:
        share = max(each.curve(name, TUNED).largest_share for each in found)
        verdict = "holds" if share <= 1.0 else "does not hold"
        rows.append((f"largest regret of {LOOKS[name].name}, of its bound", f"{share:.0%}: **{verdict}**"))
    small, large = (fmean(own[k] for own in shown.energies) for k in (0, -1))
    held, best = (fmean(own[-1] for own in losses) / last for losses in (shown.held_losses, shown.best_losses))
    rows += [
        (f"w' A_T w of the best weights, from T = {first:,} to {last:,} ({where})", f"{small:,.0f} to {large:,.0f}"),
        (f"loss per round at T = {last:,} of weights with D of T = {first:,} ({where})", f"{held:.0%}"),
        (f"loss per round at T = {last:,} of the best weights ({where})", f"{best:.0%}"),
    ]
    return table(("figure", "measured"), rows)


def _limits(found: Sequence[Regret]) -> str:
    rows = []
    for each in found:
        for rate, predicted in each.limits.items():
            regrets = each.curve("ssol-full", rate).regrets[0]
            # Over the last decade: the losses of the beginning would hide the end.
            measured = (regrets[-1] - regrets[-2]) / (each.horizons[-1] - each.horizons[-2])
            rows.append((_title(each), rate, f"{predicted:.3f}", f"{measured:.3f}"))
    return table(("sequence", "eta", "predicted per round", "measured per round (the first seed)"), rows)


def _title(each: Regret) -> str:
    return f"{each.sequence}, d {each.dimensions}"


def _exponent(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "none: not above 0"
    return f"T^{fmean(known):.2f}" + (f" ± {stdev(known):.2f}" if len(known) > 1 else "")
