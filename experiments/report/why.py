"""Why claims hold or fail: experiments that look behind them."""

from collections.abc import Mapping, Sequence

from experiments.curves import Figure, Value, at, balanced, error, fit_on
from experiments.figures.style import LOOKS
from experiments.findings import Findings
from experiments.fitting import Fits
from experiments.learners import ALL, LEARNERS, PAPERS
from experiments.studies.selection import Kept
from experiments.studies.timing import FORCED, Timing
from kernels.registry import load
from load_tests.harness.report import table

LEVELS = (None, 0.8, 0.9, 0.96, 0.99)
SELECTION = """### What is kept at 90% sparsity

On the synthetic set it is known which 100 of the 1,000 features decide. At about 90% sparsity:"""
SELECTED = """Dual averaging sums up what every example has said of a feature and cuts the sums: noise cancels out, and
what decides is kept. Truncated gradient shrinks every weight a little at every step, so that a weight stands for the
last few examples: what is kept is what came last. SSOL cuts u = A^-1 theta, and A^-1 is larger for features that
come seldom: here it is {noise:.2f} for noise and {deciding:.2f} for what decides, so that noise is favoured by a
factor of {factor:.1f} when the cut is made. `threshold_on = theta` cuts the sums themselves."""
SMALL = """### Sets with few features

At 90% sparsity a set of some hundred features has a few dozen weights left. Where the error there is that of one
verdict for all, the model has nothing left to tell, whatever has made it sparse: on such a set no claim about 90%
means much."""
FIRST_ORDER = """### Second order against first, on the synthetic set

FOBOS is the only one of the six whose rate falls (eta / sqrt(t)). Beside STG, which is the same truncated gradient
at a constant rate, second order is ahead or behind as follows (error %, lambda 0, wider grid): if Ada-FOBOS is
ahead of STG and not of FOBOS, it is the falling rate that wins, not the first order. And SSOL has a loss at
{losses:.0%} of the examples with the settings that are best for it there: it then sums up all examples alike,
whatever their order (its deviation over the permutations is {deviation:.3f} points), since on this set the mean of
a class shows the plane."""
EDGES = """### The edge of the grid

Where a setting lies at the edge of the paper's grid, and what lies beyond it: error % at lambda 0 (at 1:99: 100
less balanced accuracy), and how often one of the settings chosen lies at an edge."""
ONE_CHANGE = """### SSOL with one option changed

Against the best of the paper's other algorithms on the same set, at the same sparsity, wider grid; in bold what
would be the best of all. If one of these wins where SSOL as used does not, the claim fails by that option, not by
the idea."""
TIMES = """### Where the time goes

A pass goes through a table of hashed features, whose rows have 8 bytes for the key and 8 for each number that is
kept. SSOL changes A^-1 at every example, Ada-RDA and Ada-FOBOS change nothing where there is no loss. So all four
also ran with a rate so small that every example has a loss, and all of them write as often as SSOL always does: if
SSOL is faster than Ada-RDA then, and not with the settings above, what it loses there is the writing that Ada-RDA
is spared."""


def section(findings: Findings, titles: Mapping[str, str]) -> str:
    """All that was looked at."""
    parts = ["## Why"]
    if findings.selection:
        parts += [SELECTION, _selection(findings.selection), _selected(findings.selection)]
    if "ssol on synthetic" in findings.even and "synthetic" in findings.timing:
        parts += [_first_order(findings), _orders(findings)]
    parts += [SMALL, _small(findings, titles), EDGES, _edges(findings)]
    if findings.options:
        parts += [ONE_CHANGE, *_changes(findings, titles)]
    if findings.timing:
        parts += [TIMES, _times(findings.timing, titles)]
    return "\n\n".join(parts)


def _selection(found: Sequence[Kept]) -> str:
    rows = [
        (_name(each.learner), f"{100 * each.sparsity:.1f}", f"{each.deciding} of 100", f"{each.noise} of 900")
        for each in found
    ]
    return table(("algorithm", "sparsity %", "features kept that decide", "noise kept"), rows)


def _selected(found: Sequence[Kept]) -> str:
    ssol = next(each for each in found if each.learner == "ssol")
    deciding, noise = 1.0 / (1.0 + ssol.evidence_deciding), 1.0 / (1.0 + ssol.evidence_noise)
    return SELECTED.format(deciding=deciding, noise=noise, factor=noise / deciding)


def _first_order(findings: Findings) -> str:
    timed = findings.timing["synthetic"].of("ssol")
    start = at(fit_on(findings.even["ssol on synthetic"], "wider").curve, None, error)
    assert start is not None, "every curve begins at lambda 0"
    return FIRST_ORDER.format(losses=timed[0].losses, deviation=100 * start.deviation)


def _orders(findings: Findings) -> str:
    names = ("stg", "fobos", "ada-fobos", "fsol", "ada-rda", "ssol")
    values = [at(fit_on(findings.even[f"{name} on synthetic"], "wider").curve, None, error) for name in names]
    return table(tuple(map(_name, names)), [tuple(map(str, values))])


def _small(findings: Findings, titles: Mapping[str, str]) -> str:
    rows = []
    for name in dict.fromkeys(fits.set for fits in findings.even.values()):
        facts = findings.facts[name]
        positives = facts.positives / (facts.train + (facts.test or 0))
        own = {fits.learner: fits for fits in findings.even.values() if fits.set == name}
        values = [at(fit_on(own[learner], "wider").curve, 0.9, error) for learner in PAPERS]
        known = [value.mean for value in values if value is not None]
        spread = f"{100 * min(known):.2f} to {100 * max(known):.2f}" if known else "-"
        one = f"{100 * min(positives, 1.0 - positives):.2f}"
        rows.append((titles[name], f"{facts.features:,}", f"{facts.features // 10:,}", one, spread))
    header = ("set", "features", "weights left at 90%", "error of one verdict for all %", "errors of the six at 90%")
    return table(header, rows)


def _edges(findings: Findings) -> str:
    rows = []
    for name in ALL:
        for found, figure, where in ((findings.even, error, "balanced"), (findings.rare, balanced, "1:99")):
            own = [fits for fits in found.values() if fits.learner == name]
            if own:
                rows.append(
                    (_name(name), where, _at_edge(own), *(_starts(own, grid, figure) for grid in ("paper", "wider")))
                )
    return table(("algorithm", "sets", "at an edge", "paper's grid", "beyond it"), rows)


def _at_edge(own: Sequence[Fits]) -> str:
    return f"{sum(bool(fit_on(fits, 'paper').chosen.at_edge) for fits in own)} of {len(own)}"


def _starts(own: Sequence[Fits], grid: str, figure: Figure) -> str:
    """Of each set, in order."""
    values = [at(fit_on(fits, grid).curve, None, figure) for fits in own]
    return ", ".join(f"{100 * (v.mean if figure is error else 1.0 - v.mean):.2f}" for v in values if v is not None)


def _changes(findings: Findings, titles: Mapping[str, str]) -> list[str]:
    told = []
    for learner, found, figure, text in (
        ("ssol", findings.even, error, "SSOL, error %"),
        ("cs-ssol", findings.rare, balanced, "at 1:99: CS-SSOL, balanced accuracy %"),
    ):
        names = dict.fromkeys(fits.set for fits in findings.options.values() if fits.learner == learner)
        told += [f"{titles[name]}, {text}:\n\n{_changed(findings, found, learner, name, figure)}" for name in names]
    return told


def _changed(findings: Findings, found: Mapping[str, Fits], learner: str, name: str, figure: Figure) -> str:
    start = f"{learner} on {name}"
    variants = {"as used": found[start]} | {
        key.removeprefix(f"{start}, "): fits for key, fits in findings.options.items() if key.startswith(start)
    }
    others = [fits for fits in found.values() if fits.set == name and fits.learner in _rivals(learner)]
    best = {level: _best(others, level, figure) for level in LEVELS}
    rows = [
        (variant, *(_cell(fits, level, figure, best[level]) for level in LEVELS)) for variant, fits in variants.items()
    ]
    rows.append(("best of the others", *(f"{value} ({who})" if value else "-" for who, value in best.values())))
    return table(("option", *("lambda 0" if level is None else f"{100 * level:g}%" for level in LEVELS)), rows)


def _rivals(learner: str) -> set[str]:
    """The paper's other algorithms."""
    with_costs = {name for name in ALL if LEARNERS[name].with_costs} - {"cs-ftrl"}
    return (set(PAPERS) if learner == "ssol" else set(PAPERS) | with_costs) - {learner}


def _best(others: Sequence[Fits], level: float | None, figure: Figure) -> tuple[str, Value | None]:
    values = {fits.learner: at(fit_on(fits, "wider").curve, level, figure) for fits in others}
    known = {who: value for who, value in values.items() if value is not None}
    if not known:
        return "", None
    sign = 1.0 if figure is error else -1.0
    who = min(known, key=lambda name: sign * known[name].mean)
    return _name(who), known[who]


def _cell(fits: Fits, level: float | None, figure: Figure, best: tuple[str, Value | None]) -> str:
    value = at(fit_on(fits, "wider").curve, level, figure)
    if value is None:
        return "-"
    sign = 1.0 if figure is error else -1.0
    wins = best[1] is None or sign * value.mean <= sign * best[1].mean
    return f"**{value}**" if wins else str(value)


def _times(timings: Mapping[str, Timing], titles: Mapping[str, str]) -> str:
    rows = []
    for name in dict.fromkeys(timed.learner for timing in timings.values() for timed in timing.timed):
        size = 8 * (len(load(str(LEARNERS[name].options["algorithm"])).FRESH) + 1)
        rows.append(
            (_name(name), "as chosen", size, *(_cost(timing, name, forced=False) for timing in timings.values()))
        )
        if name in FORCED:
            rows.append((_name(name), "all", size, *(_cost(timing, name, forced=True) for timing in timings.values())))
    return table(("algorithm", "examples with a loss", "bytes of a row", *(titles[name] for name in timings)), rows)


def _cost(timing: Timing, learner: str, *, forced: bool) -> str:
    return f"{timing.cost(learner, forced=forced):.1f} ns"


def _name(learner: str) -> str:
    first, _, rest = learner.partition(",")
    return LOOKS[first].name + (f",{rest}" if rest else "")
