"""What a scenario found, as figures by name and as rows of a table."""

from collections.abc import Mapping
from dataclasses import dataclass

from load_tests.harness.report import table
from load_tests.harness.wrk import Peak
from load_tests.scenarios.counting import Counts
from load_tests.scenarios.plans import Counted, Found

Figures = dict[str, float | None]  # such as `mixed.p99`, or `hot.neighbours.p99` of one name
OF_A_NAME = ("requests", "failures", "rate", "p50", "p99")
OF_A_SCENARIO = (*OF_A_NAME, "items", "miscounted", "loads", "peak", "peak_bad", "confined")
HEADER = (
    "scenario",
    "requests",
    "per second",
    "items per second",
    "p50, ms",
    "p99, ms",
    "failures",
    "counted by the service",
    "Locust's cores",
    "wrk: per second",
    "wrk's cores",
    "Locust beside wrk",
    "wrk, confined: per second",
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one scenario."""

    found: Found
    counted: Counts
    miscounted: int
    peak: Peak | None = None  # by wrk, with the same requests
    confined: Peak | None = None  # the same with a part of a core for each worker

    @property
    def items(self) -> float:
        """Verdicts and labels per second."""
        total = self.found.total
        return (self.found.verdicts + self.found.labels) * total.rate / max(total.requests, 1)

    @property
    def share_of_peak(self) -> float | None:
        """What is missing to 1 is Locust's own slowness."""
        return self.found.total.rate / self.peak.rate if self.peak else None


def figures(outcomes: Mapping[str, Outcome]) -> Figures:
    """All of them, by name."""
    found: Figures = {}
    for scenario, outcome in outcomes.items():
        found |= {f"{scenario}.{measure}": value for measure, value in _of_scenario(outcome).items()}
        for name, counted in outcome.found.names.items():
            found |= {f"{scenario}.{name}.{measure}": value for measure, value in _of_name(counted).items()}
    return found


def outcomes_table(outcomes: Mapping[str, Outcome]) -> str:
    """A row for each scenario."""
    return table(HEADER, (_row(scenario, outcome) for scenario, outcome in outcomes.items()))


def _row(scenario: str, outcome: Outcome) -> tuple[object, ...]:
    total, difference = outcome.found.total, outcome.miscounted
    return (
        scenario,
        f"{total.requests:,}",
        f"{total.rate:,.0f}",
        f"{outcome.items:,.0f}",
        _shown(total.p50, ",.0f"),
        _shown(total.p99, ",.0f"),
        total.failures,
        f"**{difference:,} differ**" if difference else "the same",
        f"{outcome.found.cores:.2f}",
        *_peak(outcome.peak),
        _shown(outcome.share_of_peak, ".2f", " x"),
        f"{outcome.confined.rate:,.0f}" if outcome.confined else "",
    )


def _peak(peak: Peak | None) -> tuple[str, str]:
    if peak is None:
        return "", ""
    return f"{peak.rate:,.0f}", f"{peak.cores:.2f}"


def _shown(value: float | None, form: str, unit: str = "") -> str:
    return "" if value is None else f"{value:{form}}{unit}"


def _of_scenario(outcome: Outcome) -> Figures:
    peak = outcome.peak
    return _of_name(outcome.found.total) | {
        "items": outcome.items,
        "miscounted": outcome.miscounted,
        "loads": outcome.counted.loads,
        "peak": peak.rate if peak else None,
        "peak_bad": peak.bad if peak else None,
        "confined": outcome.confined.rate if outcome.confined else None,
    }


def _of_name(counted: Counted) -> Figures:
    return {measure: getattr(counted, measure) for measure in OF_A_NAME}
