"""The claims of the paper, each with a rule that decides from the numbers whether it holds, set by set."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from experiments.curves import Figure, Value, at, balanced, by_learner, error, fit_on, sets_in, sparsity_of
from experiments.findings import Findings
from experiments.fitting import Fits
from experiments.learners import ALL, LEARNERS, PAPERS
from experiments.studies.timing import Timing

STABLE: Final = 0.01  # one point of error
STABLE_UP_TO: Final = 0.9
FARTHER: Final = 0.98
SPARSE_SETS: Final = "(99% where all six are sparser than 90% by themselves)"
HIGH: Final = (0.9, 0.96, 0.98)
PAIRS: Final = (("ada-fobos", "fobos"), ("ada-rda", "fsol"), ("ssol", "fsol"))
WITH_COSTS: Final = (("cs-fsol", "fsol"), ("cs-ssol", "ssol"), ("cs-ftrl", "ftrl"), ("cs-ogd", "fsol"))
LEVELS: Final = (None, 0.9)


@dataclass(frozen=True, slots=True)
class Verdict:
    """On one set."""

    where: str
    measured: str
    holds: bool


@dataclass(frozen=True, slots=True)
class Claim:
    """What the paper says, by which rule it is judged, and what was found."""

    name: str
    paper: str
    rule: str
    verdicts: list[Verdict]

    @property
    def summary(self) -> str:
        """In how many places it holds."""
        held = sum(verdict.holds for verdict in self.verdicts)
        if held == len(self.verdicts):
            return f"**holds** ({held} of {held})"
        return f"holds in {held} of {len(self.verdicts)}" if held else f"**does not hold** (0 of {len(self.verdicts)})"


def claims(findings: Findings, titles: Mapping[str, str], grid: str) -> list[Claim]:
    """Those that something was found about, with the settings that this grid has led to."""
    return [claim for claim in _claims(findings, titles, grid) if claim.verdicts]


def _claims(findings: Findings, titles: Mapping[str, str], grid: str) -> list[Claim]:
    even = {titles[name]: by_learner(findings.even, name) for name in sets_in(findings.even)}
    rare = {f"{titles[name]}, 1:99": by_learner(findings.rare, name) for name in sets_in(findings.rare)}
    return [
        Claim(
            "Dual averaging stays stable up to 90% sparsity",
            "Up to 90% sparsity the error of FSOL, Ada-RDA and SSOL stays as it is or falls.",
            f"from lambda 0 to 90% sparsity the error of each grows by one point at most {SPARSE_SETS}",
            [_stability(name, fits, grid) for name, fits in even.items()],
        ),
        Claim(
            "Truncated gradient collapses",
            "The error of STG, FOBOS and Ada-FOBOS grows quickly with sparsity.",
            f"their error grows more than twice as much, on average, as that of the other three {SPARSE_SETS}",
            [_collapse(name, fits, grid) for name, fits in even.items()],
        ),
        Claim(
            "SSOL has the lowest error at high sparsity",
            "SSOL consistently outperforms the other five over all sets when the sparsity is high.",
            "at 90, 96 and 98% SSOL's mean is the lowest of the six, or within one standard deviation of the lowest",
            [_lowest(name, fits, grid) for name, fits in even.items()],
        ),
        Claim(
            "Second order is better than first",
            "Second order algorithms outperform first order ones (Ada-FOBOS, Ada-RDA, SSOL; FOBOS, FSOL).",
            "Ada-FOBOS has a lower error than FOBOS, Ada-RDA and SSOL than FSOL, both at lambda 0 and at 90% sparsity",
            [_pairs(name, fits, grid, PAIRS, error) for name, fits in even.items()],
        ),
        Claim(
            "Costs are worth it",
            "All cost-sensitive algorithms have a consistently better balanced accuracy than those without costs.",
            "CS-FSOL, CS-SSOL, CS-FTRL and CS-OGD are each ahead of the same without costs, at lambda 0 and at 90%",
            [_pairs(name, fits, grid, WITH_COSTS, balanced) for name, fits in rare.items()],
        ),
        Claim(
            "CS-SSOL is the best",
            "CS-SSOL achieves the best balanced accuracy of all algorithms (CS-FTRL is not in the paper).",
            "at lambda 0 and at 90% sparsity its mean is the largest of the paper's algorithms, or within one standard "
            "deviation of the largest",
            [_best(name, fits, grid) for name, fits in rare.items()],
        ),
        Claim(
            "FSOL is the fastest, SSOL faster than Ada-RDA and Ada-FOBOS",
            "FSOL is consistently faster than SSOL, and SSOL than the other two of second order.",
            "FSOL has the lowest cost, and SSOL a lower one than Ada-RDA and Ada-FOBOS (the median over sparsities "
            "of medians over rounds)",
            [_times(titles[name], timing) for name, timing in findings.timing.items()],
        ),
    ]


def _stability(name: str, fits: Mapping[str, Fits], grid: str) -> Verdict:
    level = _level(fits, grid)
    rises = _rises(fits, grid, level, averages=True)
    return Verdict(name, f"{_at(level)}: {_points(rises)}", max(rises.values(), default=math.inf) <= STABLE)


def _collapse(name: str, fits: Mapping[str, Fits], grid: str) -> Verdict:
    level = _level(fits, grid)
    truncating, averaging = (_rises(fits, grid, level, averages=averages) for averages in (False, True))
    holds = _mean(truncating) > 2.0 * max(_mean(averaging), 0.0)
    told = f"{_at(level)}: {_points(truncating)}; dual averaging {_points(averaging)}"
    if level < FARTHER:
        truncating, averaging = (_rises(fits, grid, FARTHER, averages=averages) for averages in (False, True))
        told += f". Farther, {_at(FARTHER)}: {_points(truncating)}; dual averaging {_points(averaging)}"
    return Verdict(name, told, holds)


def _rises(fits: Mapping[str, Fits], grid: str, level: float, *, averages: bool) -> dict[str, float]:
    """By how much the error has grown; at a sparsity that a learner does not reach it is left out."""
    rises = {name: _rise(fits[name], grid, level) for name in PAPERS if LEARNERS[name].averages == averages}
    return {name: rise for name, rise in rises.items() if rise is not None}


def _rise(fits: Fits, grid: str, level: float) -> float | None:
    curve = fit_on(fits, grid).curve
    start, end = at(curve, None, error), at(curve, level, error)
    return None if start is None or end is None else end.mean - start.mean


def _level(fits: Mapping[str, Fits], grid: str) -> float:
    """Models of few updates may be sparser than 90% by themselves: then only more of it tells anything."""
    own = [min(fit_on(fits[name], grid).curve, key=lambda point: point.strength) for name in PAPERS]
    return STABLE_UP_TO if min(map(sparsity_of, own)) < STABLE_UP_TO else 0.99


def _mean(rises: Mapping[str, float]) -> float:
    return fmean(rises.values()) if rises else 0.0


def _points(rises: Mapping[str, float]) -> str:
    return _told({name: f"{100 * rise:+.2f}" for name, rise in rises.items()})


def _lowest(name: str, fits: Mapping[str, Fits], grid: str) -> Verdict:
    told, holds = [], True
    for level in HIGH:
        values = _values(fits, PAPERS, grid, level, error)
        if not values:  # nobody got there
            continue
        best = min(values, key=lambda learner: values[learner].mean)
        ours = values.get("ssol")
        holds &= ours is not None and ours.mean <= values[best].mean + values[best].deviation
        told.append(f"{100 * level:g}%: SSOL {ours or '-'}, best {best} {values[best]}")
    return Verdict(name, "; ".join(told), holds)


def _pairs(name: str, fits: Mapping[str, Fits], grid: str, pairs: Sequence[tuple[str, str]], figure: Figure) -> Verdict:
    told, holds = [], True
    sign = -1.0 if figure is error else 1.0
    for level in LEVELS:
        values = _values(fits, ALL, grid, level, figure)
        gains = {
            f"{one} to {other}": sign * (values[one].mean - values[other].mean)
            for one, other in pairs
            if one in values and other in values
        }
        holds &= all(gain > 0.0 for gain in gains.values())
        told.append(f"{_at(level)}: " + _told({pair: f"{100 * gain:+.2f}" for pair, gain in gains.items()}))
    return Verdict(name, "; ".join(told), holds)


def _best(name: str, fits: Mapping[str, Fits], grid: str) -> Verdict:
    told, holds = [], True
    for level in LEVELS:
        values = _values(fits, ALL, grid, level, balanced)
        papers = {learner: value for learner, value in values.items() if learner not in {"ftrl", "cs-ftrl", "arow"}}
        best = max(papers, key=lambda learner: papers[learner].mean)
        ours = papers["cs-ssol"]
        holds &= ours.mean >= papers[best].mean - papers[best].deviation
        told.append(f"{_at(level)}: CS-SSOL {ours}, best {best} {papers[best]}, CS-FTRL {values['cs-ftrl']}")
    return Verdict(name, "; ".join(told), holds)


def _times(name: str, timing: Timing) -> Verdict:
    costs = {learner: timing.cost(learner) for learner in dict.fromkeys(timed.learner for timed in timing.timed)}
    holds = min(costs, key=lambda learner: costs[learner]) == "fsol" and costs["ssol"] < min(
        costs["ada-rda"], costs["ada-fobos"]
    )
    told = _told({learner: f"{cost:.1f}" for learner, cost in costs.items()})
    return Verdict(name, f"ns per non-zero: {told}", holds)


def _values(
    fits: Mapping[str, Fits], learners: Sequence[str], grid: str, level: float | None, figure: Callable[..., float]
) -> dict[str, Value]:
    found = {learner: at(fit_on(fits[learner], grid).curve, level, figure) for learner in learners if learner in fits}
    return {learner: value for learner, value in found.items() if value is not None}


def _told(values: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


def _at(level: float | None) -> str:
    return "lambda 0" if level is None else f"{100 * level:g}%"
