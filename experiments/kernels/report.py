"""The results of the benchmark, its targets, and the sections of docs/performance-kernels.md."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from experiments.kernels import rivals
from experiments.kernels.fresh_process import Growth, Startup
from experiments.kernels.speed import Speed
from experiments.plots import PLAIN
from load_tests.harness.report import Target, at_least, at_most, bullets, shown, table_of, targets_table

NOISE_NANOSECONDS = 1.0
LEAST_CORES_OF_VW = 1.35  # with two free cores it was seen to use 1.4 to 1.8
COLOURS = {"cs-ssol": "#0b5394", "fsol": "#b45f06"}


@dataclass(frozen=True, slots=True)
class Results:
    """Everything that was measured."""

    machine: list[str]
    speeds: list[Speed]
    rivals: dict[str, rivals.Cost]
    dicts: dict[str, float]
    growths: list[Growth]
    startup: Startup
    scaling: list[Speed]

    def speed(self, algorithm: str) -> Speed:
        return next(speed for speed in self.speeds if speed.algorithm == algorithm)


def targets(results: Results) -> list[Target]:
    cs_ssol, fsol = results.speed("cs-ssol"), results.speed("fsol")
    dict_time, start = results.dicts[rivals.DICT_SLUICE], results.startup
    most = max(max(g.table_bytes_per_feature, g.peak_bytes_per_feature or 0.0) for g in results.growths)
    return [
        at_most("CS-SSOL, stream form, beside the limit", 2.5, cs_ssol.ratio),
        at_most("FSOL, stream form, beside the limit", 2.0, fsol.ratio),
        *_faster_than_vw("VW's default", results.rivals[rivals.VW_DEFAULT], cs_ssol),
        *_faster_than_vw("VW --ftrl", results.rivals[rivals.VW_FTRL], cs_ssol),
        at_least("A dict of 100 names, faster than river's FTRL", 30.0, results.dicts[rivals.DICT_RIVER] / dict_time),
        at_most("A dict of 100 names, beside parsing its JSON", 3.0, dict_time / results.dicts[rivals.DICT_JSON]),
        at_most("Memory per feature of a second-order model", 64.0, most, " bytes"),
        at_most("Import to first score, beside importing Numba", 2.0, start.warm / start.numba),
        _flat(results.scaling),
    ]


def sections(results: Results, found: list[Target]) -> dict[str, str]:
    start, speeds, ours = results.startup, results.speeds, results.speed("cs-ssol").nanoseconds
    own = {speed.algorithm.upper(): rivals.Cost(speed.nanoseconds, speed.nanoseconds) for speed in speeds[:2]}
    costs: list[tuple[str, Callable[[Speed], object]]] = [
        ("ns per non-zero", lambda s: f"{s.nanoseconds:.1f}"),
        ("limit, ns", lambda s: f"{s.limit_nanoseconds:.1f}"),
    ]
    return {
        "machine": bullets(results.machine),
        "targets": targets_table(found),
        "learners": f"Stream form, {speeds[0].features:,} features.\n\n"
        + table_of(
            speeds,
            ("learner", lambda s: s.algorithm),
            ("bytes per row", lambda s: s.row_bytes),
            *costs,
            ("ratio", lambda s: f"{s.ratio:.2f}"),
            ("examples with a loss", lambda s: f"{s.learnt:.0%}"),
        ),
        "rivals": table_of(
            (own | results.rivals).items(),
            ("learner", lambda row: row[0]),
            ("ns per non-zero by the clock", lambda row: f"{row[1].elapsed:.1f}"),
            ("times CS-SSOL", lambda row: f"{row[1].elapsed / ours:.1f}"),
            ("ns of all cores", lambda row: f"{row[1].processor:.1f}"),
            ("times CS-SSOL", lambda row: f"{row[1].processor / ours:.1f}"),
        ),
        "dicts": table_of(
            results.dicts.items(), ("100 features", lambda row: row[0]), ("microseconds", lambda row: f"{row[1]:.1f}")
        ),
        "memory": table_of(
            results.growths,
            ("features at a doubling", lambda g: f"{g.features:,}"),
            ("table, bytes per feature", lambda g: f"{g.table_bytes_per_feature:.1f}"),
            ("peak of the process, bytes per feature", lambda g: shown(g.peak_bytes_per_feature, ".1f")),
        ),
        "start": (
            f"Import to first score: {start.warm:.2f} s with compiled kernels, {start.cold:.0f} s without; "
            f"importing Numba alone: {start.numba:.2f} s."
        ),
        "scaling": table_of(
            results.scaling,
            ("learner", lambda s: s.algorithm),
            ("features", lambda s: f"{s.features:,}"),
            ("load of the table", lambda s: f"{s.load:.2f}"),
            *costs,
        ),
    }


def draw(speeds: Sequence[Speed], path: Path) -> None:
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


def _faster_than_vw(name: str, cost: rivals.Cost, ours: Speed) -> list[Target]:
    """Compare twice: VW works with two threads, Sluice with one."""
    by_processor = at_least(f"CS-SSOL faster than {name}, by processor time", 3.0, cost.processor / ours.nanoseconds)
    text = f"CS-SSOL faster than {name}, by the clock (VW has two threads)"
    by_clock = at_least(text, 3.0, cost.elapsed / ours.nanoseconds)
    if cost.cores < LEAST_CORES_OF_VW:
        measured = f"{by_clock.measured}, but VW got only {cost.cores:.2f} cores: other processes were busy"
        by_clock = replace(by_clock, measured=measured, met=None)
    return [by_processor, by_clock]


def _flat(scaling: list[Speed]) -> Target:
    """Judge every size, not only the largest: the load of a table must not matter either."""
    small, *larger = [speed for speed in scaling if speed.algorithm == "cs-ssol"]

    def explained(speed: Speed) -> float:
        # To find a row a learner also reads the next one: 13/8 cache lines on average, against 9/8 of the limit.
        return max(speed.limit_nanoseconds - small.limit_nanoseconds, 0.0) * 13 / 9 + NOISE_NANOSECONDS

    def unexplained(speed: Speed) -> float:
        return speed.nanoseconds - small.nanoseconds - explained(speed)

    worst = max(larger, key=unexplained)
    return Target(
        f"CS-SSOL beyond {small.features:,} features: dearer only by cache misses (worst: {worst.features:,})",
        f"at most {explained(worst):.1f} ns more",
        f"{worst.nanoseconds - small.nanoseconds:.1f} ns more",
        unexplained(worst) <= 0.0,
    )
