"""What the scenarios found: figures by name, their table, and the thresholds between them."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import nan
from pathlib import Path

from load_tests.harness.report import Target, at_least, at_most, shown, table_of
from load_tests.harness.wrk import Peak
from load_tests.scenarios.plans import Found

Figures = dict[str, float | None]  # such as `mixed.p99`, or `hot.neighbours.p99` of one name
OF_A_NAME = ("requests", "failures", "rate", "p50", "p99")
OF_A_SCENARIO = (*OF_A_NAME, "items", "miscounted", "loads", "peak", "peak_bad", "confined")
EACH = "*"  # in the place of a scenario: each one that was played
RULE = re.compile(r"(\S+) / (\S+) (<=|>=) ([\d.]+)(?: on (\d+) cores)?")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one scenario."""

    found: Found
    loads: int  # of tenants, from the store
    miscounted: int
    wrk: Peak | None = None  # the same requests, sent by wrk
    wrk_confined: Peak | None = None  # with a part of a core for each worker

    @property
    def figures(self) -> Figures:
        """Its figures, by measure."""
        total, wrk = self.found.total, self.wrk
        return {measure: getattr(total, measure) for measure in OF_A_NAME} | {
            "items": (self.found.verdicts + self.found.labels) * total.rate / max(total.requests, 1),
            "miscounted": self.miscounted,
            "loads": self.loads,
            "peak": wrk.rate if wrk else None,
            "peak_bad": wrk.bad if wrk else None,
            "confined": self.wrk_confined.rate if self.wrk_confined else None,
        }

    @property
    def share_of_peak(self) -> float | None:
        """Locust's rate beside wrk's: the rest is Locust's own slowness."""
        return self.found.total.rate / self.wrk.rate if self.wrk else None


def figures(outcomes: Mapping[str, Outcome]) -> Figures:
    """The figures of all scenarios, by name."""
    found: Figures = {}
    for scenario, outcome in outcomes.items():
        found |= {f"{scenario}.{measure}": value for measure, value in outcome.figures.items()}
        for name, counted in outcome.found.names.items():
            found |= {f"{scenario}.{name}.{measure}": getattr(counted, measure) for measure in OF_A_NAME}
    return found


def outcomes_table(outcomes: Mapping[str, Outcome]) -> str:
    """A line for each scenario."""
    rows = [(name, outcome, outcome.figures) for name, outcome in outcomes.items()]
    return table_of(
        rows,
        ("scenario", lambda row: row[0]),
        ("requests", lambda row: shown(row[2]["requests"], ",")),
        ("per second", lambda row: shown(row[2]["rate"], ",.0f")),
        ("items per second", lambda row: shown(row[2]["items"], ",.0f")),
        ("p50, ms", lambda row: shown(row[2]["p50"], ",.0f")),
        ("p99, ms", lambda row: shown(row[2]["p99"], ",.0f")),
        ("failures", lambda row: row[2]["failures"]),
        (
            "counted by the service",
            lambda row: f"**{row[1].miscounted:,} differ**" if row[1].miscounted else "the same",
        ),
        ("Locust's cores", lambda row: f"{row[1].found.cores:.2f}"),
        ("wrk: per second", lambda row: shown(row[2]["peak"], ",.0f")),
        ("wrk's cores", lambda row: shown(getattr(row[1].wrk, "cores", None), ".2f")),
        ("Locust beside wrk", lambda row: shown(row[1].share_of_peak, ".2f", " x")),
        ("wrk, confined: per second", lambda row: shown(row[2]["confined"], ",.0f")),
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
        """Those that must have been played."""
        return {self.figure.partition(".")[0], self.beside.partition(".")[0]}

    def of(self, scenario: str) -> "Threshold":
        """The same for one scenario, where it is for each."""
        figure, beside = (name.replace(EACH, scenario) for name in (self.figure, self.beside))
        return replace(self, text=f"{scenario}: {self.text}", figure=figure, beside=beside)

    def judged(self, figures: Figures) -> Target:
        """Whether a run met it."""
        figure, beside = figures.get(self.figure), figures.get(self.beside)
        ratio = figure / beside if figure is not None and beside else None
        target = (at_most if self.is_most else at_least)(self.text, self.bound, nan if ratio is None else ratio)
        return target if ratio is not None else replace(target, measured="nothing", met=None)


def judge(
    thresholds: Iterable[Threshold], figures: Figures, played: Iterable[str], cores: int
) -> tuple[list[Target], list[str]]:
    """Judge the thresholds of the scenarios that were played; sentences about those that need more cores."""
    names = list(played)
    each = [one for t in thresholds for one in ([t.of(name) for name in names] if EACH in t.scenarios else [t])]
    found = [(one, one.judged(figures)) for one in each if one.scenarios <= set(names)]
    return [target for one, target in found if one.cores <= cores], [
        f"Not judged on {cores} cores, but on {one.cores}: {t.text}: wanted {t.wanted}, measured {t.measured}."
        for one, t in found
        if one.cores > cores
    ]


def read_thresholds(path: Path) -> list[Threshold]:
    """The thresholds of a file."""
    found = []
    for text, rule in tomllib.loads(path.read_text(encoding="utf-8"))["thresholds"].items():
        if (match := RULE.fullmatch(rule)) is None:
            raise ValueError(f"the threshold {text!r} is not `figure / beside <= bound`: {rule!r}")
        figure, beside, comparison, bound, cores = match.groups()
        found.append(Threshold(text, figure, beside, comparison == "<=", float(bound), int(cores or 1)))
    return found
