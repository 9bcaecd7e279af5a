"""The claims of the paper, each with a rule that decides from the numbers whether it holds, set by set."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from experiments.paper import sparsity, timing
from experiments.paper.curves import Figure, Fits, Value, balanced, by_learner, error, sets_in
from experiments.paper.plan import Findings
from experiments.paper.protocol import ALL, LEARNERS, PAPERS
from experiments.paper.timing import Timing
from load_tests.harness.report import table

STABLE: Final = 0.01  # one point of error
STABLE_UP_TO: Final = 0.9
FARTHER: Final = 0.98
SPARSE_SETS: Final = "(99% where all six are sparser than 90% at lambda 0)"
HIGH: Final = (0.9, 0.96, 0.98)
PAIRS: Final = (("ada-fobos", "fobos"), ("ada-rda", "fsol"), ("ssol", "fsol"))
WITH_COSTS: Final = (("cs-fsol", "fsol"), ("cs-ssol", "ssol"), ("cs-ftrl", "ftrl"), ("cs-ogd", "fsol"))
NOT_OF_PAPER: Final = {"ftrl", "cs-ftrl", "arow"}
LEVELS: Final = (None, 0.9)

Judged = tuple[str, bool]  # what was measured, and whether the claim holds there


@dataclass(frozen=True, slots=True)
class Claim:
    """What the paper says, the rule that judges it, and the verdict on each set."""

    name: str
    paper: str
    rule: str
    verdicts: dict[str, Judged]

    @property
    def summary(self) -> str:
        """Return in how many places it holds."""
        held, count = sum(holds for _, holds in self.verdicts.values()), len(self.verdicts)
        if held == count:
            return f"**holds** ({held} of {held})"
        return f"holds in {held} of {count}" if held else f"**does not hold** (0 of {count})"

    @property
    def table(self) -> str:
        """Return the verdicts set by set."""
        rows = ((where, measured, "yes" if holds else "**no**") for where, (measured, holds) in self.verdicts.items())
        return table(("set", "measured", "holds"), rows)


@dataclass(frozen=True, slots=True)
class Group:
    """All learners on a set, with the settings of one grid."""

    fits: Mapping[str, Fits]
    grid: str

    def values(self, learners: Sequence[str], level: float | None, figure: Figure) -> dict[str, Value]:
        """Read the curves of those learners that reach the sparsity."""
        found = {name: self.fits[name].at(self.grid, level, figure) for name in learners if name in self.fits}
        return {name: value for name, value in found.items() if value is not None}

    def rises(self, level: float, *, averages: bool) -> dict[str, float]:
        """Return by how much the error grows from lambda 0 to a sparsity."""
        names = [name for name in PAPERS if LEARNERS[name].averages == averages]
        starts, ends = (self.values(names, each, error) for each in (None, level))
        return {name: ends[name].mean - starts[name].mean for name in names if name in ends}

    @property
    def level(self) -> float:
        """Return 90%, or 99% where all six are sparser than 90% at lambda 0."""
        own = [min(self.fits[name].on(self.grid).curve, key=lambda point: point.strength) for name in PAPERS]
        return STABLE_UP_TO if min(point.sparsity for point in own) < STABLE_UP_TO else 0.99


def claims(findings: Findings, titles: Mapping[str, str], grid: str) -> list[Claim]:
    """Judge the claims that there are results for, with the settings of this grid."""
    all_even, all_rare = findings.of(sparsity.EVEN), findings.of(sparsity.RARE)
    even = {titles[name]: Group(by_learner(all_even, name), grid) for name in sets_in(all_even)}
    rare = {f"{titles[name]}, 1:99": Group(by_learner(all_rare, name), grid) for name in sets_in(all_rare)}
    found = [
        Claim(
            "Dual averaging stays stable up to 90% sparsity",
            "Up to 90% sparsity the error of FSOL, Ada-RDA and SSOL stays as it is or falls.",
            f"from lambda 0 to 90% sparsity the error of each grows by one point at most {SPARSE_SETS}",
            {name: _stability(group) for name, group in even.items()},
        ),
        Claim(
            "Truncated gradient collapses",
            "The error of STG, FOBOS and Ada-FOBOS grows quickly with sparsity.",
            f"their error grows more than twice as much, on average, as that of the other three {SPARSE_SETS}",
            {name: _collapse(group) for name, group in even.items()},
        ),
        Claim(
            "SSOL has the lowest error at high sparsity",
            "SSOL consistently outperforms the other five over all sets when the sparsity is high.",
            "at 90, 96 and 98% SSOL's mean is the lowest of the six, or within one standard deviation of the lowest",
            {name: _lowest(group) for name, group in even.items()},
        ),
        Claim(
            "Second order is better than first",
            "Second order algorithms outperform first order ones (Ada-FOBOS, Ada-RDA, SSOL; FOBOS, FSOL).",
            "Ada-FOBOS has a lower error than FOBOS, Ada-RDA and SSOL than FSOL, both at lambda 0 and at 90% sparsity",
            {name: _pairs(group, PAIRS, error) for name, group in even.items()},
        ),
        Claim(
            "Costs are worth it",
            "All cost-sensitive algorithms have a consistently better balanced accuracy than those without costs.",
            "CS-FSOL, CS-SSOL, CS-FTRL and CS-OGD are each ahead of the same without costs, at lambda 0 and at 90%",
            {name: _pairs(group, WITH_COSTS, balanced) for name, group in rare.items()},
        ),
        Claim(
            "CS-SSOL is the best",
            "CS-SSOL achieves the best balanced accuracy of all algorithms (CS-FTRL is not in the paper).",
            "at lambda 0 and at 90% sparsity its mean is the largest of the paper's algorithms, or within one standard "
            "deviation of the largest",
            {name: _best(group) for name, group in rare.items()},
        ),
        Claim(
            "FSOL is the fastest, SSOL faster than Ada-RDA and Ada-FOBOS",
            "FSOL is consistently faster than SSOL, and SSOL than the other two of second order.",
            "FSOL has the lowest cost, and SSOL a lower one than Ada-RDA and Ada-FOBOS (the median over sparsities "
            "of medians over rounds)",
            {titles[name]: _times(each) for name, each in findings.of(timing.STUDY).items()},
        ),
    ]
    return [claim for claim in found if claim.verdicts]


def _stability(group: Group) -> Judged:
    rises = group.rises(group.level, averages=True)
    return f"{_at(group.level)}: {_points(rises)}", max(rises.values(), default=math.inf) <= STABLE


def _collapse(group: Group) -> Judged:
    truncated, averaged = (group.rises(group.level, averages=averages) for averages in (False, True))
    holds = _mean(truncated) > 2.0 * max(_mean(averaged), 0.0)
    text = f"{_at(group.level)}: {_points(truncated)}; dual averaging {_points(averaged)}"
    if group.level < FARTHER:
        truncated, averaged = (group.rises(FARTHER, averages=averages) for averages in (False, True))
        text += f". Farther, {_at(FARTHER)}: {_points(truncated)}; dual averaging {_points(averaged)}"
    return text, holds


def _lowest(group: Group) -> Judged:
    texts, holds = [], True
    for level in HIGH:
        values = group.values(PAPERS, level, error)
        if not values:  # no learner reached it
            continue
        best = min(values, key=lambda learner: values[learner].mean)
        ours = values.get("ssol")
        holds &= ours is not None and ours.mean <= values[best].mean + values[best].deviation
        texts.append(f"{100 * level:g}%: SSOL {ours or '-'}, best {best} {values[best]}")
    return "; ".join(texts), holds


def _pairs(group: Group, pairs: Sequence[tuple[str, str]], figure: Figure) -> Judged:
    texts, holds = [], True
    sign = -1.0 if figure is error else 1.0
    for level in LEVELS:
        values = group.values(ALL, level, figure)
        gains = {
            f"{one} to {other}": sign * (values[one].mean - values[other].mean)
            for one, other in pairs
            if one in values and other in values
        }
        holds &= all(gain > 0.0 for gain in gains.values())
        texts.append(f"{_at(level)}: {_points(gains)}")
    return "; ".join(texts), holds


def _best(group: Group) -> Judged:
    texts, holds = [], True
    for level in LEVELS:
        values = group.values(ALL, level, balanced)
        papers = {learner: value for learner, value in values.items() if learner not in NOT_OF_PAPER}
        best = max(papers, key=lambda learner: papers[learner].mean)
        ours = papers["cs-ssol"]
        holds &= ours.mean >= papers[best].mean - papers[best].deviation
        texts.append(f"{_at(level)}: CS-SSOL {ours}, best {best} {papers[best]}, CS-FTRL {values['cs-ftrl']}")
    return "; ".join(texts), holds


def _times(timed: Timing) -> Judged:
    costs = {learner: timed.cost(learner) for learner in dict.fromkeys(each.learner for each in timed.timed)}
    fastest = min(costs, key=lambda learner: costs[learner])
    holds = fastest == "fsol" and costs["ssol"] < min(costs["ada-rda"], costs["ada-fobos"])
    return "ns per non-zero: " + ", ".join(f"{learner} {cost:.1f}" for learner, cost in costs.items()), holds


def _mean(rises: Mapping[str, float]) -> float:
    return fmean(rises.values()) if rises else 0.0


def _points(shares: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {100 * share:+.2f}" for name, share in shares.items())


def _at(level: float | None) -> str:
    return "lambda 0" if level is None else f"{100 * level:g}%"
