"""The plots of a run: `python -m load_tests.scale.drawing results.json folder`, where there is matplotlib."""

import sys
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import msgspec
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Sheet

from experiments.plots import PLAIN
from load_tests.scale.figures import Figure
from load_tests.scale.results import Results

BLUE, ORANGE, GREEN = "#0b5394", "#b45f06", "#38761d"
MIB = float(1 << 20)
COST = "processor time of the worker (µs per request)"


def draw(results: Results, folder: Path) -> None:
    """All plots, each in a file."""
    folder.mkdir(parents=True, exist_ok=True)
    plots = {"features": _features, "example": _example, "tenants": _tenants, "restart": _restart}
    with mpl.rc_context(PLAIN):
        for name, plot in plots.items():
            sheet = Sheet(figsize=(8, 7.2 if name == "tenants" else 4.4), layout="constrained")
            plot(sheet, results)
            sheet.savefig(folder / f"{name}.svg", metadata={"Date": None})


def _features(sheet: Sheet, results: Results) -> None:
    axes, sizes = sheet.add_subplot(), [found.features for found in results.models]
    _line(axes, sizes, [found.predict.worker for found in results.models], BLUE, "/predict")
    _line(axes, sizes, [found.feedback.worker for found in results.models], ORANGE, "/feedback, durable")
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    _named(axes, "features in the model", COST)


def _example(sheet: Sheet, results: Results) -> None:
    axes, sizes = sheet.add_subplot(), [found.features for found in results.examples]
    _line(axes, sizes, [found.feedback.worker for found in results.examples], ORANGE, "/feedback, durable")
    _line(axes, sizes, [found.predict.worker for found in results.examples], BLUE, "/predict")
    _line(axes, sizes, [found.not_kept.worker for found in results.examples], GREEN, "/predict, keep=false")
    axes.set_xscale("log")
    axes.set_yscale("log")
    _named(axes, "features of the example", COST)


def _tenants(sheet: Sheet, results: Results) -> None:
    above, below = sheet.subplots(2, 1, sharex=True)
    sizes = [found.tenants for found in results.tenants]
    _line(above, sizes, [found.evenly_not_kept.rate for found in results.tenants], GREEN, "evenly, keep=false")
    _line(above, sizes, [found.popular.rate for found in results.tenants], BLUE, "by Zipf's law")
    _line(above, sizes, [found.evenly.rate for found in results.tenants], ORANGE, "evenly")
    above.set_ylim(bottom=0)
    _named(above, "", "/predict (requests per second)")
    below.plot(sizes, [found.resident_bytes / MIB for found in results.tenants], "o-", color=BLUE, label="worker")
    below.plot(sizes, [found.store_bytes / MIB for found in results.tenants], "s--", color=ORANGE, label="store")
    below.set_xscale("log")
    below.set_yscale("log")
    _named(below, "tenants in memory", "memory (MiB)")


def _restart(sheet: Sheet, results: Results) -> None:
    axes, events = sheet.add_subplot(), [found.events for found in results.tails]
    _line(axes, events, [found.first_answer_seconds for found in results.tails], BLUE, "to the tenant's first answer")
    _line(axes, events, [found.ready_seconds for found in results.tails], GREEN, "to ready")
    axes.set_xscale("symlog", linthresh=1000)
    axes.set_xticks(events, [f"{count:,}" for count in events])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    _named(axes, "events in the log behind the snapshot", "time from the start of the process (s)")


def _line(axes: Axes, places: Sequence[int], figures: Sequence[Figure], colour: str, label: str) -> None:
    """Medians; the bars reach from the least to the most of all rounds."""
    middle = [figure.median for figure in figures]
    below = [figure.median - figure.least for figure in figures]
    above = [figure.most - figure.median for figure in figures]
    axes.errorbar(places, middle, yerr=[below, above], fmt="o-", color=colour, capsize=4, label=label)


def _named(axes: Axes, across: str, up: str) -> None:
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.grid(visible=True, color="#dddddd")
    axes.set_axisbelow(True)
    axes.legend(frameon=False)


if __name__ == "__main__":
    draw(msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Results), Path(sys.argv[2]))
