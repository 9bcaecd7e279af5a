"""The plots of a run: `python -m load_tests.scale.plots results.json folder`, where there is matplotlib."""

import sys
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import msgspec
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Sheet

from experiments.plots import PLAIN
from load_tests.scale.results import Figure, Kind, Results

BLUE, ORANGE, GREEN = "#0b5394", "#b45f06", "#38761d"
COLOURS = {Kind.PREDICT: BLUE, Kind.FEEDBACK: ORANGE, Kind.NOT_KEPT: GREEN}
MIB = float(1 << 20)
COST = "processor time of the worker (µs per request)"


def draw(results: Results, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    plots = {"features": _features, "example": _example, "tenants": _tenants, "restart": _restart}
    with mpl.rc_context(PLAIN):
        for name, plot in plots.items():
            sheet = Sheet(figsize=(8, 7.2 if name == "tenants" else 4.4), layout="constrained")
            plot(sheet, results)
            sheet.savefig(folder / f"{name}.svg", metadata={"Date": None})


def _features(sheet: Sheet, results: Results) -> None:
    axes, sizes = sheet.add_subplot(xscale="log"), [found.features for found in results.models]
    for kind in (Kind.PREDICT, Kind.FEEDBACK):
        _line(axes, sizes, [found.costs[kind].worker for found in results.models], COLOURS[kind], _label(kind))
    _name(axes, "features in the model", COST, bottom=0.0)


def _example(sheet: Sheet, results: Results) -> None:
    axes, sizes = sheet.add_subplot(xscale="log", yscale="log"), [found.features for found in results.examples]
    for kind in (Kind.FEEDBACK, Kind.PREDICT, Kind.NOT_KEPT):
        _line(axes, sizes, [found.costs[kind].worker for found in results.examples], COLOURS[kind], _label(kind))
    _name(axes, "features of the example", COST)


def _tenants(sheet: Sheet, results: Results) -> None:
    (above, below), found = sheet.subplots(2, 1, sharex=True), results.tenants
    sizes = [each.tenants for each in found]
    for kind, colour in ((Kind.EVEN_NOT_KEPT, GREEN), (Kind.POPULAR, BLUE), (Kind.EVEN, ORANGE)):
        _line(above, sizes, [each.costs[kind].rate for each in found], colour, kind)
    _name(above, "", "/predict (requests per second)", bottom=0.0)
    below.plot(sizes, [each.resident_bytes / MIB for each in found], "o-", color=BLUE, label="worker")
    below.plot(sizes, [each.store_bytes / MIB for each in found], "s--", color=ORANGE, label="store")
    below.set(xscale="log", yscale="log")
    _name(below, "tenants in memory", "memory (MiB)")


def _restart(sheet: Sheet, results: Results) -> None:
    axes, events = sheet.add_subplot(), [found.events for found in results.tails]
    _line(axes, events, [found.first_answer_seconds for found in results.tails], BLUE, "to the tenant's first answer")
    _line(axes, events, [found.ready_seconds for found in results.tails], GREEN, "to ready")
    axes.set_xscale("symlog", linthresh=1000)
    axes.set_xticks(events, [f"{count:,}" for count in events])
    axes.minorticks_off()
    _name(axes, "events in the log behind the snapshot", "time from the start of the process (s)", bottom=0.0)


def _label(kind: Kind) -> str:
    return f"{kind}, durable" if kind is Kind.FEEDBACK else kind


def _line(axes: Axes, places: Sequence[int], figures: Sequence[Figure], colour: str, label: str) -> None:
    """Medians; the bars reach from the least to the most of all rounds."""
    spread = [(each.median - min(each.rounds), max(each.rounds) - each.median) for each in figures]
    middle, bars = [each.median for each in figures], list(zip(*spread, strict=True))
    axes.errorbar(places, middle, yerr=bars, fmt="o-", color=colour, capsize=4, label=label)


def _name(axes: Axes, across: str, up: str, bottom: float | None = None) -> None:
    axes.set(xlabel=across, ylabel=up, axisbelow=True)
    axes.set_ylim(bottom=bottom)
    axes.grid(visible=True, color="#dddddd")
    axes.legend(frameon=False)


if __name__ == "__main__":
    draw(msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Results), Path(sys.argv[2]))
