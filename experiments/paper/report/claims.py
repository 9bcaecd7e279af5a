"""The claims of the paper, each with a rule that decides from the numbers whether it holds, set by set."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Any, Final

from experiments.paper import sparsity, timing
from experiments.paper.curves import Figure, Fits, Value, balanced, by_learner, error, sets_in
from experiments.paper.plan import Findings
from experiments.paper.protocol import ALL, LEARNERS, PAPERS
from experiments.paper.timing import Timing
from load_tests.harness.report import table

STABLE: Final = 0.01  # one point of error
STABLE_UP_TO: Final = 0.9
FARTHER: Final = 0.98
HIGH: Final = (0.9, 0.96, 0.98)
PAIRS: Final = (("ada-fobos", "fobos"), ("ada-rda", "fsol"), ("ssol", "fsol"))
WITH_COSTS: Final = (("cs-fsol", "fsol"), ("cs-ssol", "ssol"), ("cs-ftrl", "ftrl"), ("cs-ogd", "fsol"))
NOT_OF_PAPER: Final = {"ftrl", "cs-ftrl", "arow"}
LEVELS: Final = (None, 0.9)

Judged = tuple[str, bool]  # what was measured, and whether the claim holds there


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of the paper, and the verdict on each set; docs/reproduction.md has its rule in words."""

    name: str
    verdicts: dict[str, Judged]

    @property
    def summary(self) -> str:
        held, count = sum(holds for _, holds in self.verdicts.values()), len(self.verdicts)
        if held == count:
            return f"**holds** ({held} of {held})"
        return f"holds in {held} of {count}" if held else f"**does not hold** (0 of {count})"

    @property
    def table(self) -> str:
        rows = ((where, measured, "yes" if holds else "**no**") for where, (measured, holds) in self.verdicts.items())
        return table(("set", "measured", "holds"), rows)


@dataclass(frozen=True, slots=True)
class Group:
    """All learners on a set, with the settings of one grid."""

    fits: Mapping[str, Fits]
    grid: str

    def values(self, level: float | None, figure: Figure) -> dict[str, Value]:
        found = {name: self.fits[name].at(self.grid, level, figure) for name in ALL if name in self.fits}
        return {name: value for name, value in found.items() if value is not None}

    def rises(self, level: float, *, averages: bool) -> dict[str, float]:
        """Return by how much the error grows from lambda 0 to a sparsity."""
        starts, ends = (self.values(each, error) for each in (None, level))
        names = [name for name in PAPERS if LEARNERS[name].averages == averages and name in ends]
        return {name: ends[name].mean - starts[name].mean for name in names}

    @property
    def level(self) -> float:
        """Return 90%, or 99% where all six are sparser than 90% at lambda 0."""
        own = [min(self.fits[name].on(self.grid).curve, key=lambda point: point.strength) for name in PAPERS]
        return STABLE_UP_TO if min(point.sparsity for point in own) < STABLE_UP_TO else 0.99


def claims(findings: Findings, titles: Mapping[str, str], grid: str) -> list[Claim]:
    found = []
    for name, (study, judge) in CLAIMS.items():
        results = findings.of(study)
        if study == timing.STUDY:
            verdicts = {titles[where]: judge(timed) for where, timed in results.items()}
        else:
            suffix = ", 1:99" if study == sparsity.RARE else ""
            groups = {f"{titles[where]}{suffix}": Group(by_learner(results, where), grid) for where in sets_in(results)}
            verdicts = {where: judge(group) for where, group in groups.items()}
        found.append(Claim(name, verdicts))
    return [claim for claim in found if claim.verdicts]


def _stability(group: Group) -> Judged:
    rises = group.rises(group.level, averages=True)
    return f"{level_name(group.level)}: {_points(rises)}", max(rises.values(), default=math.inf) <= STABLE


def _collapse(group: Group) -> Judged:
    def rises(level: float) -> tuple[list[float], str]:
        truncated, averaged = (group.rises(level, averages=averages) for averages in (False, True))
        means = [fmean(each.values()) if each else 0.0 for each in (truncated, averaged)]
        return means, f"{level_name(level)}: {_points(truncated)}; dual averaging {_points(averaged)}"

    (truncated, averaged), text = rises(group.level)
    if group.level < FARTHER:
        text += f". Farther, {rises(FARTHER)[1]}"
    return text, truncated > 2.0 * max(averaged, 0.0)


def _first(learner: str, figure: Figure, levels: Sequence[float | None], group: Group) -> Judged:
    """Judge whether its mean is the best of the paper's algorithms, or within one standard deviation of the best."""
    texts, holds = [], True
    sign = 1.0 if figure is error else -1.0
    for level in levels:
        values = group.values(level, figure)
        papers = {name: value for name, value in values.items() if name not in NOT_OF_PAPER}
        if not papers:  # no learner reached it
            continue
        best = min(papers, key=lambda name: sign * papers[name].mean)
        ours = papers.get(learner)
        holds &= ours is not None and sign * ours.mean <= sign * papers[best].mean + papers[best].deviation
        beside = f", CS-FTRL {values['cs-ftrl']}" if "cs-ftrl" in values else ""
        texts.append(f"{level_name(level)}: {learner.upper()} {ours or '-'}, best {best} {papers[best]}{beside}")
    return "; ".join(texts), holds


def _pairs(pairs: Sequence[tuple[str, str]], figure: Figure, group: Group) -> Judged:
    texts, holds = [], True
    sign = -1.0 if figure is error else 1.0
    for level in LEVELS:
        values = group.values(level, figure)
        gains = {
            f"{one} to {other}": sign * (values[one].mean - values[other].mean)
            for one, other in pairs
            if one in values and other in values
        }
        holds &= all(gain > 0.0 for gain in gains.values())
        texts.append(f"{level_name(level)}: {_points(gains)}")
    return "; ".join(texts), holds


def _times(timed: Timing) -> Judged:
    costs = {learner: timed.cost(learner) for learner in dict.fromkeys(each.learner for each in timed.timed)}
    fastest = min(costs, key=lambda learner: costs[learner])
    holds = fastest == "fsol" and costs["ssol"] < min(costs["ada-rda"], costs["ada-fobos"])
    return "ns per non-zero: " + ", ".join(f"{learner} {cost:.1f}" for learner, cost in costs.items()), holds


def _points(shares: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {100 * share:+.2f}" for name, share in shares.items())


def level_name(level: float | None) -> str:
    return "lambda 0" if level is None else f"{100 * level:g}%"


CLAIMS: Final[dict[str, tuple[str, Callable[[Any], Judged]]]] = {
    "Dual averaging stays stable up to 90% sparsity": (sparsity.EVEN, _stability),
    "Truncated gradient collapses": (sparsity.EVEN, _collapse),
    "SSOL has the lowest error at high sparsity": (sparsity.EVEN, partial(_first, "ssol", error, HIGH)),
    "Second order is better than first": (sparsity.EVEN, partial(_pairs, PAIRS, error)),
    "Costs are worth it": (sparsity.RARE, partial(_pairs, WITH_COSTS, balanced)),
    "CS-SSOL is the best": (sparsity.RARE, partial(_first, "cs-ssol", balanced, LEVELS)),
    "FSOL is the fastest, SSOL faster than Ada-RDA and Ada-FOBOS": (timing.STUDY, _times),
}
