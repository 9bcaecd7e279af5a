"""Figures: the look of each algorithm, which is the same in every figure, and the layout of a page."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

from experiments.paper.curves import Figure as RunFigure
from experiments.paper.curves import Fit, error
from experiments.paper.timing import Timing
from experiments.plots import PLAIN

STYLE: Final[dict[Any, Any]] = {
    **PLAIN,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.linewidth": 1.6,
    "lines.markersize": 5.5,
}
GRID: Final = "#dddddd"
GREY: Final = "#555555"
BAND: Final = 0.18  # how opaque the spread is
LEGEND_ROW: Final = 0.27  # inches
RANGES: Final = ((0.0, 1.0), (0.8, 1.0))  # of sparsity
TICKS: Final = tuple(step * 10.0**-power for power in (4, 3, 2, 1) for step in (1.0, 2.0, 3.0, 5.0, 7.0))
PER_ROW: Final = 5  # entries of a legend


class Look(NamedTuple):
    """The name and the look of an algorithm; hollow markers are algorithms without costs."""

    name: str
    colour: str
    marker: str
    hollow: bool = True

    @property
    def line(self) -> dict[str, Any]:
        face = "white" if self.hollow else self.colour
        return {"color": self.colour, "marker": self.marker, "markerfacecolor": face, "label": self.name}


# Colours of Okabe and Ito and of Tol, distinct with any kind of colour vision. An algorithm with costs has the colour
# and the marker of the one without.
LOOKS: Final = {
    "stg": Look("STG", "#e69f00", "v"),
    "fobos": Look("FOBOS", "#999933", "^"),
    "ada-fobos": Look("Ada-FOBOS", "#56b4e9", "<"),
    "ada-rda": Look("Ada-RDA", "#cc79a7", "D"),
    "fsol": Look("FSOL", "#009e73", "s"),
    "ssol": Look("SSOL", "#0072b2", "o"),
    "ssol-full": Look("SSOL, full matrix", "#882255", "h"),
    "ftrl": Look("FTRL", "#d55e00", "P"),
    "arow": Look("AROW", "#777777", "X"),
    "cs-ogd": Look("CS-OGD", "#44aa99", ">", hollow=False),
    "cpa": Look("CPA", "#aa4499", "p", hollow=False),
    "paum": Look("PAUM", "#000000", "*", hollow=False),
    "cs-fsol": Look("CS-FSOL", "#009e73", "s", hollow=False),
    "cs-ssol": Look("CS-SSOL", "#0072b2", "o", hollow=False),
    "cs-ftrl": Look("CS-FTRL", "#d55e00", "P", hollow=False),
}
# From dark to pale: for settings of one algorithm that grow, such as its forgetting.
STEPS: Final = ("#0d0887", "#b5179e", "#f3722c", "#e0b000")


@contextmanager
def page(
    path: Path, rows: int, columns: int, panel: tuple[float, float], legend_rows: int, **share: str
) -> Iterator[tuple[Figure, list[Axes]]]:
    """Yield a figure and its panels by row, then write it. `panel` is in inches; `share`: sharex, sharey."""
    with mpl.rc_context(STYLE):
        size = (panel[0] * columns, panel[1] * rows + LEGEND_ROW * legend_rows)
        figure = Figure(figsize=size, layout="constrained")
        panels = list(figure.subplots(rows, columns, squeeze=False, **share).flat)
        for axes in panels:
            axes.grid(visible=True, color=GRID)
            axes.set_axisbelow(True)
        yield figure, panels
        figure.savefig(path, metadata={"Date": None})


def legend_below(figure: Figure, panels: Sequence[Axes], columns: int) -> None:
    """Put one legend for all panels below them; labels are distinct."""
    entries: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=columns, frameon=False)


def percent(axis: Axis) -> None:
    axis.set_major_formatter(lambda value, _: f"{100 * value:g}")


def picture(path: Path, text: str) -> str:
    return f"![{text}]({path.parent.name}/{path.name})"


def draw_curves(title: str, fits: Mapping[str, Fit], figure: RunFigure, path: Path) -> None:
    """Draw error or balanced accuracy against sparsity: the whole range, and its end; bars are standard deviations."""
    is_error = figure is error
    with page(path, 1, 2, (5.4, 4.0 if is_error else 5.0), 2 if is_error else 3) as (drawn, panels):
        for axes, span in zip(panels, RANGES, strict=True):
            if is_error:
                axes.set_yscale("log")
            low, high = _draw_range(axes, fits, figure, span)
            if is_error:
                axes.yaxis.set_major_locator(FixedLocator(TICKS))
                axes.yaxis.set_minor_locator(NullLocator())
                axes.yaxis.set_minor_formatter(NullFormatter())
            margin, room = 0.02 * (span[1] - span[0]), 0.05 * (high - low) + 1e-4
            axes.set_xlim(span[0] - margin, span[1] + margin)
            axes.set_ylim(max(low * 0.9, 1e-4) if is_error else low - room, high + room)
            axes.set_title(title if span == RANGES[0] else f"the same, {100 * span[0]:g} to {100 * span[1]:g}%")
            axes.set_xlabel("sparsity: weights that are 0, of the features met (%)")
            axes.set_ylabel("test error (%)" if is_error else "balanced accuracy (%)")
            percent(axes.xaxis)
            percent(axes.yaxis)
        legend_below(drawn, panels[:1], PER_ROW)


def _draw_range(
    axes: Axes, fits: Mapping[str, Fit], figure: RunFigure, span: tuple[float, float]
) -> tuple[float, float]:
    """Draw all learners; return the lowest and the highest value within the range, which decide on the height."""
    seen = []
    for name, fit in fits.items():
        points = sorted(fit.curve, key=lambda point: point.sparsity)
        places = [point.sparsity for point in points]
        means, deviations = map(list, zip(*(point.value(figure) for point in points), strict=True))
        bars = {"capsize": 2, "elinewidth": 0.8, **LOOKS[name].line}
        if len(points) == 1:  # without lambda: the same at any sparsity
            axes.errorbar(span, means * 2, deviations * 2, linestyle=":", **bars)
            seen += means
            continue
        inside = [k for k, place in enumerate(places) if span[0] <= place <= span[1]]
        first = max(inside[0] - 1, 0) if inside else 0  # the line comes in from outside
        axes.errorbar(places[first:], means[first:], deviations[first:], **bars)
        seen += [means[k] for k in inside]
    return min(seen, default=0.0), max(seen, default=1.0)


def draw_times(timings: Mapping[str, Timing], titles: Mapping[str, str], path: Path) -> None:
    """Draw nanoseconds per non-zero of one pass: the median of the rounds, with the fastest and the slowest."""
    with page(path, -(-len(timings) // 2), 2, (5.4, 3.6), 2) as (drawn, panels):
        for axes, timing in zip(panels, timings.values(), strict=False):
            for name in dict.fromkeys(timed.learner for timed in timing.timed):
                own = timing.of(name)
                costs = [sorted(1e9 * seconds / timing.nonzeros for seconds in timed.seconds) for timed in own]
                middles = [median(each) for each in costs]
                spread = [(m - each[0], each[-1] - m) for m, each in zip(middles, costs, strict=True)]
                places = [100 * timed.sparsity for timed in own]
                bars = {"yerr": list(zip(*spread, strict=True)), "capsize": 2, "elinewidth": 0.8}
                axes.errorbar(places, middles, **bars, **LOOKS[name].line)
            axes.set_ylim(bottom=0)
            axes.set_title(titles[timing.set])
            axes.set_xlabel("sparsity (%)")
            axes.set_ylabel("time per non-zero (ns)")
        for axes in panels[len(timings) :]:
            axes.set_axis_off()
        legend_below(drawn, panels[:1], PER_ROW)
