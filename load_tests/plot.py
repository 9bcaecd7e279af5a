"""The plot of cost against the number of features."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from load_tests.speed import Speed

COLOURS = {"cs-ssol": "#0b5394", "fsol": "#b45f06"}
# Text stays text, and no date or random name is written: the file changes only when the numbers do.
PLAIN: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "sluice", "font.size": 11}


def draw(speeds: Sequence[Speed], path: Path) -> None:
    """Nanoseconds per non-zero of each learner and of its limit."""
    with mpl.rc_context(PLAIN):
        figure = Figure(figsize=(8, 4.8), layout="constrained")
        axes = figure.add_subplot()
        for name, colour in COLOURS.items():
            own = [speed for speed in speeds if speed.algorithm == name]
            features = [speed.features for speed in own]
            limit = f"limit, rows of {own[0].row_bytes} bytes"
            axes.plot(features, [s.nanoseconds for s in own], "o-", color=colour, label=name.upper())
            axes.plot(features, [s.limit_nanoseconds for s in own], "s--", color=colour, label=limit, markersize=4)
        axes.set_xscale("log")
        axes.set_ylim(bottom=0)
        axes.set_xlabel("features in the model")
        axes.set_ylabel("time per non-zero (ns)")
        axes.grid(visible=True, color="#dddddd")
        axes.legend(frameon=False)
        figure.savefig(path, metadata={"Date": None})
