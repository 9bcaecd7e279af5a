"""Balanced accuracy along streams that change: a row for each stream, a column for each learner."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from matplotlib.axes import Axes

from experiments.figures.style import BAND, GREY, LOOKS, STEPS, in_thousands, legend_below, page, percent
from experiments.studies.drift import DEFAULTS, FLIP, IN_ORDER, LEARNERS, Drifting, Played
from kernels.arrays import Floats

NAMES: Final = {"ftrl": LOOKS["cs-ftrl"].name}  # its costs are found online, as those of the others
TITLES: Final = {
    "phishtank": "PhishTank, Lobsters",
    "jpcert": "JPCERT, Lobsters",
    "elec2": "ELEC2",
    FLIP: "labels flipped",
}
SHOWN: Final = (0.0, 3e-5, 1e-4, 1e-3)
PANEL: Final = (3.7, 2.3)


@dataclass(frozen=True, slots=True)
class Row:
    """A stream (one for each seed), with learners at some rates."""

    results: list[Drifting]
    rates: str

    @property
    def title(self) -> str:
        """What stands beside it."""
        name = TITLES[self.results[0].stream]
        return name if self.rates == DEFAULTS else f"{name}, {self.rates}"

    def played(self, learner: str, forgetting: float) -> list[Played]:
        """What that learner did, for each seed."""
        return [
            each
            for result in self.results
            for each in result.played
            if (each.learner, each.rates, each.forgetting) == (learner, self.rates, forgetting)
        ]


def draw(results: Sequence[Drifting], path: Path) -> None:
    """Bands: 95% intervals of a window as if verdicts were independent; where labels flip, all seeds."""
    rows = list(filter(lambda row: row.results, _rows(results)))
    size = {"rows": len(rows), "columns": len(LEARNERS), "legend_rows": 2}
    with page(path, panel=PANEL, sharex="row", sharey="row", **size) as (figure, panels):  # type: ignore[arg-type]
        for place, row in enumerate(rows):
            line = panels[place * len(LEARNERS) : (place + 1) * len(LEARNERS)]
            for axes, learner in zip(line, LEARNERS, strict=True):
                _learner(axes, row, learner)
            line[0].set_ylabel(f"{row.title}\nbalanced accuracy (%)")
        for axes, learner in zip(panels, LEARNERS, strict=False):
            axes.set_title(NAMES.get(learner, LOOKS[learner].name))
        for axes in panels[-len(LEARNERS) :]:
            axes.set_xlabel("examples")
        legend_below(figure, panels, columns=3)


def _rows(results: Sequence[Drifting]) -> list[Row]:
    ordered = [(name, rates) for name, _, _, both, _ in IN_ORDER for rates in both]
    return [
        Row([each for each in results if each.stream == name], rates) for name, rates in [*ordered, (FLIP, DEFAULTS)]
    ]


def _learner(axes: Axes, row: Row, learner: str) -> None:
    one = row.results[0]
    for forgetting, colour in zip(SHOWN, STEPS, strict=False):
        played = row.played(learner, forgetting)
        if not played:
            continue
        whole = one.examples // one.window  # what is left over is too short to say anything
        middle, low, high = (each[:whole] for each in _spread(played))
        ends = np.arange(1, whole + 1) * one.window
        axes.fill_between(ends, low, high, color=colour, alpha=BAND, linewidth=0)
        axes.plot(ends, middle, color=colour, label=_label(forgetting))
    if one.flipped_at is not None:
        axes.axvline(one.flipped_at, color=GREY, linestyle=":", label="flip")
    elif one.stream == "elec2":
        axes.axhline(one.persistent, color=GREY, linestyle="--", label="the last label again (ELEC2)")
    in_thousands(axes)
    percent(axes)


def _label(forgetting: float) -> str:
    return f"forgetting {forgetting:.0e}".replace("e-0", "e-") if forgetting else "no forgetting"


def _spread(played: list[Played]) -> tuple[Floats, Floats, Floats]:
    """The windows, and a band around them."""
    windows = np.array([each.windows for each in played], np.float64)  # None becomes NaN: a gap in the line
    if len(played) > 1:
        return windows.mean(axis=0), windows.min(axis=0), windows.max(axis=0)
    margins = np.array(played[0].margins, np.float64)
    return windows[0], windows[0] - margins, windows[0] + margins
