"""Why claims hold or fail: the tables that look behind them."""

from collections.abc import Mapping, Sequence

from experiments.paper import sparsity, timing
from experiments.paper.curves import Figure, Fits, Value, balanced, by_learner, error, sets_in
from experiments.paper.plan import Findings
from experiments.paper.protocol import ALL, LEARNERS, PAPERS
from experiments.paper.report.figures import LOOKS
from experiments.paper.sparsity import Kept
from kernels.registry import load
from load_tests.harness.report import table, table_of

LEVELS = (None, 0.8, 0.9, 0.96, 0.99)
ORDERS = ("stg", "fobos", "ada-fobos", "fsol", "ada-rda", "ssol")


def sections(findings: Findings, titles: Mapping[str, str]) -> dict[str, str]:
    """Return all sections by name; empty where there are no results."""
    kept = [each for found in findings.of(sparsity.SELECTION).values() for each in found]
    return {
        "selection": _selection(kept) if kept else "",
        "orders": _orders(findings),
        "small": _small(findings, titles),
        "edges": _edges(findings),
        "changes": "\n\n".join(_changes(findings, titles)),
        "times": _times(findings, titles),
    }


def variants(findings: Findings, learner: str, study: str) -> dict[str, dict[str, Fits]]:
    """Return for each set the learner as used, and with one option changed."""
    base, options = findings.of(study), findings.of(sparsity.OPTIONS)
    names = sets_in({key: fits for key, fits in options.items() if fits.learner == learner})
    found = {}
    for name in names:
        start = f"{learner} on {name}, "
        changed = {key.removeprefix(start): fits for key, fits in options.items() if key.startswith(start)}
        found[name] = {"as used": base[f"{learner} on {name}"], **changed}
    return found


def _selection(kept: Sequence[Kept]) -> str:
    rows = table_of(
        kept,
        ("algorithm", lambda k: _name(k.learner)),
        ("sparsity %", lambda k: f"{100 * k.sparsity:.1f}"),
        ("features kept that decide", lambda k: f"{k.deciding} of 100"),
        ("noise kept", lambda k: f"{k.noise} of 900"),
    )
    ssol = next(each for each in kept if each.learner == "ssol")
    deciding, noise = 1.0 / (1.0 + ssol.evidence_deciding), 1.0 / (1.0 + ssol.evidence_noise)
    mean = f"{noise:.2f} for noise and {deciding:.2f} for features that decide, a factor of {noise / deciding:.1f}"
    return f"{rows}\n\nThe mean of A^-1 in SSOL is {mean}."


def _orders(findings: Findings) -> str:
    even, timed = findings.of(sparsity.EVEN), findings.of(timing.STUDY)
    if "ssol on synthetic" not in even or "synthetic" not in timed:
        return ""
    values = [even[f"{name} on synthetic"].at("wider", None, error) for name in ORDERS]
    losses, deviation = timed["synthetic"].of("ssol")[0].losses, 100 * values[-1].deviation
    text = f"SSOL has a loss on {losses:.0%} of the examples, and a deviation of {deviation:.3f} points."
    return f"{table(tuple(map(_name, ORDERS)), [tuple(map(str, values))])}\n\n{text}"


def _small(findings: Findings, titles: Mapping[str, str]) -> str:
    rows = []
    for name in sets_in(findings.of(sparsity.EVEN)):
        facts, own = findings.facts[name], by_learner(findings.of(sparsity.EVEN), name)
        positives = facts.positives / (facts.train + (facts.test or 0))
        known = [value.mean for each in PAPERS if (value := own[each].at("wider", 0.9, error)) is not None]
        spread = f"{100 * min(known):.2f} to {100 * max(known):.2f}" if known else "-"
        one = f"{100 * min(positives, 1.0 - positives):.2f}"
        rows.append((titles[name], f"{facts.features:,}", f"{facts.features // 10:,}", one, spread))
    header = ("set", "features", "weights left at 90%", "error of one verdict for all %", "errors of the six at 90%")
    return table(header, rows)


def _edges(findings: Findings) -> str:
    rows = []
    for name in ALL:
        for study, figure, where in ((sparsity.EVEN, error, "balanced"), (sparsity.RARE, balanced, "1:99")):
            own: list[Fits] = [fits for fits in findings.of(study).values() if fits.learner == name]
            if not own:
                continue
            at_edge = sum(bool(fits.on("paper").chosen.at_edge) for fits in own)
            starts = []
            for grid in ("paper", "wider"):
                means = [value.mean for fits in own if (value := fits.at(grid, None, figure)) is not None]
                starts.append(", ".join(f"{100 * (m if figure is error else 1.0 - m):.2f}" for m in means))
            rows.append((_name(name), where, f"{at_edge} of {len(own)}", *starts))
    return table(("algorithm", "sets", "at an edge", "paper's grid", "beyond it"), rows)


def _changes(findings: Findings, titles: Mapping[str, str]) -> list[str]:
    """Compare each variant with the best of the paper's other algorithms on the same set."""
    with_costs = {name for name in ALL if LEARNERS[name].with_costs} - {"cs-ftrl"}
    parts = []
    for learner, study, figure, text, others in (
        ("ssol", sparsity.EVEN, error, "SSOL, error %", set(PAPERS)),
        ("cs-ssol", sparsity.RARE, balanced, "at 1:99: CS-SSOL, balanced accuracy %", set(PAPERS) | with_costs),
    ):
        for name, changed in variants(findings, learner, study).items():
            found = by_learner(findings.of(study), name)
            rivals = [fits for other, fits in found.items() if other in others - {learner}]
            best = {level: _best(rivals, level, figure) for level in LEVELS}
            rows: list[tuple[str, ...]] = [
                (variant, *(_cell(fits, level, figure, best[level][1]) for level in LEVELS))
                for variant, fits in changed.items()
            ]
            rows.append(("best of the others", *(f"{value} ({who})" if value else "-" for who, value in best.values())))
            header = ("option", *("lambda 0" if level is None else f"{100 * level:g}%" for level in LEVELS))
            parts.append(f"{titles[name]}, {text}:\n\n{table(header, rows)}")
    return parts


def _best(others: Sequence[Fits], level: float | None, figure: Figure) -> tuple[str, Value | None]:
    values = {fits.learner: fits.at("wider", level, figure) for fits in others}
    known = {who: value for who, value in values.items() if value is not None}
    if not known:
        return "", None
    sign = 1.0 if figure is error else -1.0
    who = min(known, key=lambda name: sign * known[name].mean)
    return _name(who), known[who]


def _cell(fits: Fits, level: float | None, figure: Figure, best: Value | None) -> str:
    value = fits.at("wider", level, figure)
    if value is None:
        return "-"
    sign = 1.0 if figure is error else -1.0
    return f"**{value}**" if best is None or sign * value.mean <= sign * best.mean else str(value)


def _times(findings: Findings, titles: Mapping[str, str]) -> str:
    timings, rows = findings.of(timing.STUDY), []
    for name in dict.fromkeys(timed.learner for each in timings.values() for timed in each.timed):
        size = 8 * (len(load(str(LEARNERS[name].options["algorithm"])).fresh) + 1)
        for text, forced in (("as chosen", False), ("all", True))[: 2 if name in timing.FORCED else 1]:
            costs = (f"{each.cost(name, forced=forced):.1f} ns" for each in timings.values())
            rows.append((_name(name), text, size, *costs))
    header = ("algorithm", "examples with a loss", "bytes of a row", *(titles[name] for name in timings))
    return table(header, rows) if rows else ""


def _name(learner: str) -> str:
    first, _, rest = learner.partition(",")
    return LOOKS[first].name + (f",{rest}" if rest else "")
