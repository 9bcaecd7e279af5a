"""The sections on regret, and their figure: above with rates tuned to the length, below with a fixed rate."""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Final

import numpy as np
from matplotlib.axes import Axes

from experiments.paper.regret.study import FIXED, TUNED, Regret
from experiments.paper.regret.theorems import SECOND_ORDER, THEOREMS, Compared
from experiments.paper.report.figures import GREY, LOOKS, legend_below, page
from load_tests.harness.report import table

DIMENSIONS: Final = 20  # those of the figure; the table has all
SHOWN_RATE: Final = "1"
TITLES: Final = {"noisy": "10% of labels wrong", "separable": "separable", "coins": "labels by coin flips"}
BOUNDS: Final = {"fsol": "bound of the theorem on FSOL", "ssol-full": "bound of the theorem on SSOL"}
BEHIND: Final = {"ssol-full": {"linewidth": 3.5, "markersize": 9.0}}  # visible where the diagonal does the same


def sections(found: Sequence[Regret], figures: Path) -> dict[str, str]:
    """Draw the figure, and return the sections by name."""
    if not found:
        return {"regret": "", "bounds": "", "limits": ""}
    draw(found, figures / "regret.svg")
    picture = f"![Regret against the number of rounds]({figures.name}/regret.svg)"
    return {"regret": f"{picture}\n\n{_growth(found)}", "bounds": _bounds(found), "limits": _limits(found)}


def draw(results: Sequence[Regret], path: Path) -> None:
    """Draw a column for each sequence; bands reach from the lowest to the highest seed."""
    shown = [each for each in results if each.dimensions == DIMENSIONS]
    with page(path, rows=2, columns=len(shown), legend_rows=3, sharex="col", panel=(3.9, 3.3)) as (figure, panels):
        above, below = panels[: len(shown)], panels[len(shown) :]
        for axes, result in zip(above, shown, strict=True):
            axes.set_title(f"{TITLES[result.sequence]}, d = {result.dimensions}")
            _draw_regrets(axes, result, TUNED)
            _draw_bounds(axes, result)
        for axes, result in zip(below, shown, strict=True):
            _draw_regrets(axes, result, SHOWN_RATE)
            ends = np.array([result.horizons[0], result.horizons[-1]])
            axes.plot(ends, 0.1 * ends, color=GREY, linestyle=(0, (1, 2)), label="in proportion to T")
            axes.set_xlabel("rounds T")
        above[0].set_ylabel("regret (hinge loss)\n$\\eta$ tuned to T")
        below[0].set_ylabel(f"regret (hinge loss)\n$\\eta$ = {SHOWN_RATE}")
        legend_below(figure, panels, columns=3)


def _draw_regrets(axes: Axes, result: Regret, rate: str) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    for algorithm in THEOREMS:
        regrets, look = np.array(result.curve(algorithm, rate).regrets), LOOKS[algorithm]
        axes.fill_between(result.horizons, regrets.min(axis=0), regrets.max(axis=0), **look.band)
        axes.plot(result.horizons, regrets.mean(axis=0), **look.line, **BEHIND.get(algorithm, {}))


def _draw_bounds(axes: Axes, result: Regret) -> None:
    for algorithm, label in BOUNDS.items():
        bound = np.array(result.curve(algorithm, TUNED).bounds).mean(axis=0)
        axes.plot(result.horizons, bound, color=LOOKS[algorithm].colour, linestyle="--", label=label)
    energy = float(np.mean([own[0] for own in result.hindsight.energies]))
    to = [Compared(count, result.dimensions, 0.0, energy) for count in result.horizons]
    held = np.array([SECOND_ORDER.bound(each, SECOND_ORDER.rate(each)) for each in to])  # D of the first horizon
    colour = LOOKS["ssol-full"].colour
    axes.plot(result.horizons, held, color=colour, linestyle=":", label="the same, if D did not grow: O(log T)")
    if result.floor is not None:
        axes.plot(result.horizons, result.floor, color=GREY, linestyle="-.", label="no learner is below (on average)")


def _growth(found: Sequence[Regret]) -> str:
    rows = [
        (
            _title(each),
            LOOKS[algorithm].name,
            f"{fmean(own[-1] for own in tuned.regrets):,.0f}",
            f"{tuned.largest_share:.0%}",
            _exponent(tuned.exponents),
            *(_exponent(each.curve(algorithm, rate).late_exponents) for rate in FIXED),
        )
        for each in found
        for algorithm in THEOREMS
        for tuned in [each.curve(algorithm, TUNED)]
    ]
    fixed = (f"growth at eta {rate}, last decade" for rate in FIXED)
    last = f"regret at T = {found[0].horizons[-1]:,}, tuned"
    return table(("sequence", "algorithm", last, "of its bound, at most", "growth, tuned", *fixed), rows)


def _bounds(found: Sequence[Regret]) -> str:
    shown = found[0].hindsight
    where, first, last = _title(found[0]), found[0].horizons[0], found[0].horizons[-1]
    shares = {name: max(each.curve(name, TUNED).largest_share for each in found) for name in BOUNDS}
    rows = [
        (f"largest regret of {LOOKS[name].name}, of its bound", f"{share:.0%}: **{_verdict(share)}**")
        for name, share in shares.items()
    ]
    small, large = (fmean(own[k] for own in shown.energies) for k in (0, -1))
    held, best = (fmean(own[-1] for own in losses) / last for losses in (shown.held_losses, shown.losses))
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


def _verdict(share: float) -> str:
    return "holds" if share <= 1.0 else "does not hold"


def _exponent(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "none: not above 0"
    return f"T^{fmean(known):.2f}" + (f" ± {stdev(known):.2f}" if len(known) > 1 else "")
