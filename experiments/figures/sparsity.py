"""Test error, or balanced accuracy, against sparsity: the whole range, and its end."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

from experiments.curves import Figure, Value, sparsity_of, value_of
from experiments.figures.style import LOOKS, legend_below, page
from experiments.fitting import Fit

PANEL: Final = (5.4, 4.0)
RANGES: Final = ((0.0, 1.0), (0.8, 1.0))
TICKS: Final = tuple(step * 10.0**-power for power in (4, 3, 2, 1) for step in (1.0, 2.0, 3.0, 5.0, 7.0))
PER_ROW: Final = 5


def draw_errors(title: str, fits: Mapping[str, Fit], figure: Figure, path: Path) -> None:
    """Error rates on a logarithmic scale; bars are one standard deviation to each side."""
    with page(path, columns=2, panel=PANEL, legend_rows=2) as (drawn, panels):
        for axes, span in zip(panels, RANGES, strict=True):
            axes.set_yscale("log")
            _curves(axes, fits, figure, span)
            axes.yaxis.set_major_locator(FixedLocator(TICKS))
            axes.yaxis.set_minor_locator(NullLocator())
            axes.yaxis.set_minor_formatter(NullFormatter())
            _label(axes, span, title, "test error (%)")
        legend_below(drawn, panels[:1], PER_ROW)


def draw_balance(title: str, fits: Mapping[str, Fit], figure: Figure, path: Path) -> None:
    """Balanced accuracy; filled markers are those that know costs."""
    with page(path, columns=2, panel=(PANEL[0], 5.0), legend_rows=3) as (drawn, panels):
        for axes, span in zip(panels, RANGES, strict=True):
            _curves(axes, fits, figure, span)
            _label(axes, span, title, "balanced accuracy (%)")
        legend_below(drawn, panels[:1], PER_ROW)


def _curves(axes: Axes, fits: Mapping[str, Fit], figure: Figure, span: tuple[float, float]) -> None:
    for name, fit in fits.items():
        points = sorted(fit.curve, key=sparsity_of)
        places = [sparsity_of(point) for point in points]
        values = [value_of(point, figure) for point in points]
        if len(points) == 1:
            _level(axes, name, values[0], span)
            continue
        inside = [k for k, place in enumerate(places) if span[0] <= place <= span[1]]
        first = max(inside[0] - 1, 0) if inside else 0  # the line comes in from outside
        axes.errorbar(
            places[first:],
            [value.mean for value in values[first:]],
            [value.deviation for value in values[first:]],
            capsize=2,
            elinewidth=0.8,
            **LOOKS[name].line,
        )
    margin = 0.02 * (span[1] - span[0])
    axes.set_xlim(span[0] - margin, span[1] + margin)
    _fit_height(axes, fits, figure, span)


def _level(axes: Axes, name: str, value: Value, span: tuple[float, float]) -> None:
    """A learner without lambda: it is as it is at any sparsity."""
    axes.errorbar(
        span, [value.mean] * 2, [value.deviation] * 2, capsize=2, elinewidth=0.8, linestyle=":", **LOOKS[name].line
    )


def _fit_height(axes: Axes, fits: Mapping[str, Fit], figure: Figure, span: tuple[float, float]) -> None:
    """Only what lies within the range decides on the height."""
    seen = [
        value_of(point, figure).mean
        for fit in fits.values()
        for point in fit.curve
        if len(fit.curve) == 1 or span[0] <= sparsity_of(point) <= span[1]
    ]
    if seen:
        low, high = min(seen), max(seen)
        room = 0.05 * (high - low) + 1e-4
        axes.set_ylim(max(low * 0.9, 1e-4) if axes.get_yscale() == "log" else low - room, high + room)


def _label(axes: Axes, span: tuple[float, float], title: str, text: str) -> None:
    axes.set_title(title if span == RANGES[0] else f"the same, {100 * span[0]:g} to {100 * span[1]:g}%")
    axes.set_xlabel("sparsity: weights that are 0, of the features met (%)")
    axes.set_ylabel(text)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g}"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g}"))
