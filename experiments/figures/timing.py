"""The time of one pass against sparsity."""

from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Final

from experiments.figures.style import LOOKS, hide_rest, legend_below, page
from experiments.studies.timing import Timing

COLUMNS: Final = 2
PANEL: Final = (5.4, 3.6)


def draw(timings: Mapping[str, Timing], titles: Mapping[str, str], path: Path) -> None:
    """Nanoseconds per non-zero of one pass; the median of the rounds, and from the fastest to the slowest of them."""
    rows = -(-len(timings) // COLUMNS)
    with page(path, rows=rows, columns=COLUMNS, panel=PANEL, legend_rows=2) as (drawn, panels):
        for axes, timing in zip(panels, timings.values(), strict=False):
            for name in dict.fromkeys(timed.learner for timed in timing.timed):
                own = timing.of(name)
                cost = [[1e9 * s / timing.nonzeros for s in timed.seconds] for timed in own]
                middles = [median(c) for c in cost]
                spread = [[m - min(c) for m, c in zip(middles, cost, strict=True)]]
                spread.append([max(c) - m for m, c in zip(middles, cost, strict=True)])
                places = [100 * timed.sparsity for timed in own]
                axes.errorbar(places, middles, spread, capsize=2, elinewidth=0.8, **LOOKS[name].line)
            axes.set_ylim(bottom=0)
            axes.set_title(titles[timing.set])
            axes.set_xlabel("sparsity (%)")
            axes.set_ylabel("time per non-zero (ns)")
        hide_rest(panels, len(timings))
        legend_below(drawn, panels[:1], 5)
