"""What one run of the kernels' benchmark found, and what it was to find."""

from dataclasses import dataclass, replace

from load_tests import dicts, rivals
from load_tests.harness.report import Target, at_least, at_most
from load_tests.memory import Growth, worst
from load_tests.speed import Speed

NOISE_NANOSECONDS = 1.0
LEAST_CORES_OF_VW = 1.35  # with two free cores it was seen to use 1.4 to 1.8


@dataclass(frozen=True, slots=True)
class Startup:
    """Seconds inside a fresh process."""

    numba: float
    warm: float
    cold: float


@dataclass(frozen=True, slots=True)
class Results:
    """Everything that was measured."""

    machine: list[str]
    load_averages: tuple[float, float]
    speeds: list[Speed]
    rivals: dict[str, rivals.Cost]
    dicts: dict[str, float]
    growths: list[Growth]
    startup: Startup
    scaling: list[Speed]

    def speed(self, algorithm: str) -> Speed:
        """Of one learner in the large table."""
        return next(speed for speed in self.speeds if speed.algorithm == algorithm)


def targets(results: Results) -> list[Target]:
    """All targets of speed and memory."""
    cs_ssol, fsol = results.speed("cs-ssol"), results.speed("fsol")
    dict_time = results.dicts[dicts.SLUICE]
    start = results.startup
    return [
        at_most("CS-SSOL, stream form, beside the limit", 2.5, cs_ssol.ratio),
        at_most("FSOL, stream form, beside the limit", 2.0, fsol.ratio),
        *_faster_than_vw("VW's default", results.rivals[rivals.VW_DEFAULT], cs_ssol),
        *_faster_than_vw("VW --ftrl", results.rivals[rivals.VW_FTRL], cs_ssol),
        at_least("A dict of 100 names, faster than river's FTRL", 30.0, results.dicts[dicts.RIVER] / dict_time),
        at_most("A dict of 100 names, beside parsing its JSON", 3.0, dict_time / results.dicts[dicts.JSON]),
        at_most("Memory per feature of a second-order model", 64.0, worst(results.growths), " bytes"),
        at_most("Import to first score, beside importing Numba", 2.0, start.warm / start.numba),
        _flat(results.scaling),
    ]


def _faster_than_vw(name: str, cost: rivals.Cost, ours: Speed) -> list[Target]:
    """Twice: VW works with two threads, Sluice with one."""
    by_processor = at_least(f"CS-SSOL faster than {name}, by processor time", 3.0, cost.processor / ours.nanoseconds)
    text = f"CS-SSOL faster than {name}, by the clock (VW has two threads)"
    by_clock = at_least(text, 3.0, cost.elapsed / ours.nanoseconds)
    if cost.cores < LEAST_CORES_OF_VW:
        measured = f"{by_clock.measured}, but VW got only {cost.cores:.2f} cores: others were working"
        by_clock = replace(by_clock, measured=measured, met=None)
    return [by_processor, by_clock]


def _flat(scaling: list[Speed]) -> Target:
    """At every size, not only the largest: how full a table is must not matter either."""
    small, *larger = [speed for speed in scaling if speed.algorithm == "cs-ssol"]
    worst_size = max(larger, key=lambda speed: _unexplained(speed, small))
    return Target(
        f"CS-SSOL beyond {small.features:,} features: dearer only by cache misses (worst: {worst_size.features:,})",
        f"at most {_explained(worst_size, small):.1f} ns more",
        f"{worst_size.nanoseconds - small.nanoseconds:.1f} ns more",
        _unexplained(worst_size, small) <= 0.0,
    )


def _explained(speed: Speed, small: Speed) -> float:
    """To find a row a learner reads the next one, too: 13/8 cache lines on average, to the 9/8 of the limit."""
    return max(speed.limit_nanoseconds - small.limit_nanoseconds, 0.0) * 13 / 9 + NOISE_NANOSECONDS


def _unexplained(speed: Speed, small: Speed) -> float:
    return speed.nanoseconds - small.nanoseconds - _explained(speed, small)
