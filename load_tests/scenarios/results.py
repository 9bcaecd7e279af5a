"""What the scenarios found: figures by name, their table, and the thresholds between them."""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from load_tests.harness.report import Target, at_least, at_most, shown, table_of
from load_tests.scenarios.plans import Counted, Found

Figures = dict[str, float | None]  # of a scenario, such as `p99`, or `neighbours.p99` of one name
OF_A_NAME = Counted.__struct_fields__
OF_A_SCENARIO = (*OF_A_NAME, "items", "miscounted", "loads", "peak", "peak_bad", "confined")
EACH = "*"  # in the place of a scenario: each one that was played
RULE = re.compile(r"(\S+) / (\S+) (<=|>=) ([\d.]+)(?: on (\d+) cores)?")


def figures(found: Found, loads: int, miscounted: int) -> Figures:
    total = found.total
    by_name = {"": total} | {f"{name}.": counted for name, counted in found.names.items()}
    return {f"{name}{each}": getattr(counted, each) for name, counted in by_name.items() for each in OF_A_NAME} | {
        "items": (found.verdicts + found.labels) * total.rate / max(total.requests, 1),
        "miscounted": miscounted,
        "loads": loads,
        "cores": found.cores,
    }


def figures_table(found: Mapping[str, Figures]) -> str:
    def number(measure: str, form: str) -> Callable[[tuple[str, Figures]], str]:
        return lambda row: shown(row[1].get(measure), form)

    def counts(row: tuple[str, Figures]) -> str:
        return f"**{row[1]['miscounted']:,} differ**" if row[1]["miscounted"] else "the same"

    def share_of_peak(row: tuple[str, Figures]) -> str:
        """Locust's rate beside wrk's: the rest is Locust's own slowness."""
        rate, peak = row[1]["rate"], row[1].get("peak")
        return f"{rate / peak:.2f} x" if rate and peak else ""

    return table_of(
        found.items(),
        ("scenario", lambda row: row[0]),
        ("requests", number("requests", ",")),
        ("per second", number("rate", ",.0f")),
        ("items per second", number("items", ",.0f")),
        ("p50, ms", number("p50", ",.0f")),
        ("p99, ms", number("p99", ",.0f")),
        ("failures", number("failures", "")),
        ("counted by the service", counts),
        ("Locust's cores", number("cores", ".2f")),
        ("wrk: per second", number("peak", ",.0f")),
        ("wrk's cores", number("peak_cores", ".2f")),
        ("Locust beside wrk", share_of_peak),
        ("wrk, confined: per second", number("confined", ",.0f")),
    )


@dataclass(frozen=True, slots=True)
class Threshold:
    """A bound of one figure divided by another of the same run, so that it holds on any machine."""

    text: str
    figure: str
    beside: str
    is_most: bool
    bound: float
    cores: int = 1  # that a machine needs for this to be judged

    @property
    def scenarios(self) -> set[str]:
        return {self.figure.partition(".")[0], self.beside.partition(".")[0]}

    def of(self, scenario: str) -> "Threshold":
        """The same for one scenario, where it is for each."""
        figure, beside = (name.replace(EACH, scenario) for name in (self.figure, self.beside))
        return replace(self, text=f"{scenario}: {self.text}", figure=figure, beside=beside)

    def judged(self, found: Mapping[str, Figures]) -> Target:
        """Whether a run met it. A missing figure is a miss."""
        names = (name.partition(".") for name in (self.figure, self.beside))
        figure, beside = (found[scenario].get(measure) for scenario, _, measure in names)
        target = (at_most if self.is_most else at_least)(self.text, self.bound, (figure or 0.0) / (beside or 1.0))
        return target if figure is not None and beside else replace(target, measured="nothing", met=False)


def judge(thresholds: Iterable[Threshold], found: Mapping[str, Figures], cores: int) -> tuple[list[Target], list[str]]:
    """Judge the thresholds of the scenarios that were played; sentences about those that need more cores."""
    each = [one for t in thresholds for one in ([t.of(name) for name in found] if EACH in t.scenarios else [t])]
    judged = [(one, one.judged(found)) for one in each if one.scenarios <= set(found)]
    return [target for one, target in judged if one.cores <= cores], [
        f"Not judged on {cores} cores, but on {one.cores}: {t.text}: wanted {t.wanted}, measured {t.measured}."
        for one, t in judged
        if one.cores > cores
    ]


def read_thresholds(path: Path) -> list[Threshold]:
    found = []
    for text, rule in tomllib.loads(path.read_text(encoding="utf-8"))["thresholds"].items():
        if (match := RULE.fullmatch(rule)) is None:
            raise ValueError(f"the threshold {text!r} is not `figure / beside <= bound`: {rule!r}")
        figure, beside, comparison, bound, cores = match.groups()
        found.append(Threshold(text, figure, beside, comparison == "<=", float(bound), int(cores or 1)))
    return found
