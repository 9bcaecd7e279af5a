"""What all figures share: a look for each algorithm, that is the same in every figure, and how a page is laid out."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Text stays text, and no date or random name is written: the file changes only when the numbers do.
PLAIN: Final[dict[Any, Any]] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "sluice",
    "font.size": 11,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.linewidth": 1.6,
    "lines.markersize": 5.5,
}
PANEL: Final = (4.2, 3.3)  # inches
GRID: Final = "#dddddd"
GREY: Final = "#555555"
BAND: Final = 0.18  # how opaque the spread is
LEGEND_ROW: Final = 0.27  # inches


@dataclass(frozen=True, slots=True)
class Look:
    """How an algorithm is called and drawn; hollow markers belong to those that know no costs."""

    name: str
    colour: str
    marker: str
    hollow: bool = False

    @property
    def line(self) -> dict[str, Any]:
        """Keywords for `plot` and `errorbar`."""
        face = "white" if self.hollow else self.colour
        return {"color": self.colour, "marker": self.marker, "markerfacecolor": face, "label": self.name}

    @property
    def band(self) -> dict[str, Any]:
        """Keywords for `fill_between`."""
        return {"color": self.colour, "alpha": BAND, "linewidth": 0}


# Colours of Okabe and Ito and of Tol, told apart with any kind of colour vision. An algorithm with costs has the
# colour and the marker of the one without; markers tell apart what colour alone might not.
LOOKS: Final = {
    "stg": Look("STG", "#e69f00", "v", hollow=True),
    "fobos": Look("FOBOS", "#999933", "^", hollow=True),
    "ada-fobos": Look("Ada-FOBOS", "#56b4e9", "<", hollow=True),
    "ada-rda": Look("Ada-RDA", "#cc79a7", "D", hollow=True),
    "fsol": Look("FSOL", "#009e73", "s", hollow=True),
    "ssol": Look("SSOL", "#0072b2", "o", hollow=True),
    "ssol-full": Look("SSOL, full matrix", "#882255", "h", hollow=True),
    "ftrl": Look("FTRL", "#d55e00", "P", hollow=True),
    "arow": Look("AROW", "#777777", "X", hollow=True),
    "cs-ogd": Look("CS-OGD", "#44aa99", ">"),
    "cpa": Look("CPA", "#aa4499", "p"),
    "paum": Look("PAUM", "#000000", "*"),
    "cs-fsol": Look("CS-FSOL", "#009e73", "s"),
    "cs-ssol": Look("CS-SSOL", "#0072b2", "o"),
    "cs-ftrl": Look("CS-FTRL", "#d55e00", "P"),
}
# From dark to pale: for settings of one algorithm that grow, such as its forgetting.
STEPS: Final = ("#0d0887", "#b5179e", "#f3722c", "#e0b000")


@contextmanager
def page(
    path: Path,
    *,
    rows: int = 1,
    columns: int = 1,
    panel: tuple[float, float] = PANEL,
    legend_rows: int = 0,
    **share: str,
) -> Iterator[tuple[Figure, list[Axes]]]:
    """Yield a figure and its panels, line by line; it is written in the end. `share`: sharex, sharey of `subplots`."""
    with mpl.rc_context(PLAIN):
        size = (panel[0] * columns, panel[1] * rows + LEGEND_ROW * legend_rows)
        figure = Figure(figsize=size, layout="constrained")
        panels = list(figure.subplots(rows, columns, squeeze=False, **share).flat)
        for axes in panels:
            axes.grid(visible=True, color=GRID)
            axes.set_axisbelow(True)
        yield figure, panels
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def legend_below(figure: Figure, panels: Sequence[Axes], columns: int) -> None:
    """One legend for all panels, under them; what has the same label in several is told once."""
    entries: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=columns, frameon=False)


def hide_rest(panels: Sequence[Axes], used: int) -> None:
    """Take away the panels of the grid that are left over."""
    for axes in panels[used:]:
        axes.set_axis_off()


def in_thousands(axes: Axes) -> None:
    """Write the numbers of the horizontal axis as 20k."""
    axes.xaxis.set_major_formatter(lambda value, _: f"{value / 1000:g}k" if value else "0")


def percent(axes: Axes) -> None:
    """Write the shares of the vertical axis in percent."""
    axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g}")
