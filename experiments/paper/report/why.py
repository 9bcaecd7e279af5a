"""Why claims hold or fail: the tables that look behind them."""

from collections.abc import Mapping, Sequence

from experiments.paper import sparsity, timing
from experiments.paper.curves import Figure, Fits, balanced, by_learner, error, sets_in
from experiments.paper.plan import Findings
from experiments.paper.protocol import ALL, LEARNERS, PAPERS
from experiments.paper.report.claims import level_name
from experiments.paper.report.figures import LOOKS
from experiments.paper.sparsity import Kept
from kernels.registry import load
from load_tests.harness.report import table, table_of

LEVELS = (None, 0.6, 0.8, 0.9, 0.96, 0.98, 0.99)
FEWER_LEVELS = (None, 0.8, 0.9, 0.96, 0.99)
ORDERS = ("stg", "fobos", "ada-fobos", "fsol", "ada-rda", "ssol")


def sections(findings: Findings, titles: Mapping[str, str]) -> dict[str, str]:
    """Return all sections by name; empty where there are no results."""
    kept = [each for found in findings.of(sparsity.SELECTION).values() for each in found]
    return {
        "selection": _selection(kept) if kept else "",
        "orders": _orders(findings),
        "small": _small(findings, titles),
        "edges": _edges(findings),
        **_options(findings, titles),
        "times": _times(findings, titles),
    }


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


def _options(findings: Findings, titles: Mapping[str, str]) -> dict[str, str]:
    """Each option changed: its values, and beside the best of the paper's other algorithms on the same set."""
    with_costs = {name for name in ALL if LEARNERS[name].with_costs} - {"cs-ftrl"}
    options, changes = [], []
    for learner, study, figure, what in (
        ("ssol", sparsity.EVEN, error, "SSOL, test error %"),
        ("cs-ssol", sparsity.RARE, balanced, "CS-SSOL, balanced accuracy %"),
    ):
        where, papers = (" at 1:99", {*PAPERS} | with_costs) if study == sparsity.RARE else ("", {*PAPERS})
        found, sign = findings.of(study), 1.0 if figure is error else -1.0
        changed = {key: fits for key, fits in findings.of(sparsity.OPTIONS).items() if fits.learner == learner}
        for name in sets_in(changed):
            title = f"{titles[name]}{where}: {what}"
            own = {key.partition(", ")[2]: fits for key, fits in changed.items() if fits.set == name}
            own = {"as used": found[f"{learner} on {name}"], **own}
            rows = ((key, setting_text(each, "wider"), *level_cells(each, figure)) for key, each in own.items())
            options += [f"### {title}", table(("option", "settings", *map(level_name, LEVELS)), rows)]

            rivals = [fits for who, fits in by_learner(found, name).items() if who in papers - {learner}]
            columns = [_beside_best(own, rivals, level, figure, sign) for level in FEWER_LEVELS]
            lines = zip((*own, "best of the others"), *columns, strict=True)
            changes.append(f"{title}:\n\n{table(('option', *map(level_name, FEWER_LEVELS)), lines)}")
    return {"options": "\n\n".join(options), "changes": "\n\n".join(changes)}


def _beside_best(
    own: Mapping[str, Fits], rivals: Sequence[Fits], level: float | None, figure: Figure, sign: float
) -> list[str]:
    """Format the values at a sparsity, bold where none of the rivals is better; the best of these comes last."""
    read = {fits.learner: fits.at("wider", level, figure) for fits in rivals}
    known = {who: value for who, value in read.items() if value is not None}
    best = min(known, key=lambda who: sign * known[who].mean, default="")
    cells = []
    for value in (fits.at("wider", level, figure) for fits in own.values()):
        is_best = value is not None and (not known or sign * value.mean <= sign * known[best].mean)
        cells.append(f"**{value}**" if is_best else str(value or "-"))
    return [*cells, f"{known[best]} ({_name(best)})" if known else "-"]


def _times(findings: Findings, titles: Mapping[str, str]) -> str:
    timings, rows = findings.of(timing.STUDY), []
    for name in dict.fromkeys(timed.learner for each in timings.values() for timed in each.timed):
        size = 8 * (len(load(str(LEARNERS[name].options["algorithm"])).fresh) + 1)
        for text, forced in (("as chosen", False), ("all", True))[: 2 if name in timing.FORCED else 1]:
            costs = (f"{each.cost(name, forced=forced):.1f} ns" for each in timings.values())
            rows.append((_name(name), text, size, *costs))
    header = ("algorithm", "examples with a loss", "bytes of a row", *(titles[name] for name in timings))
    return table(header, rows) if rows else ""


def level_cells(fits: Fits, figure: Figure) -> list[str]:
    return [str(fits.at("wider", level, figure) or "-") for level in LEVELS]


def setting_text(fits: Fits, grid: str) -> str:
    """Name the chosen settings, and which of them are at the edge of the grid."""
    chosen = fits.on(grid).chosen
    edges = {name: " (edge)" if name in chosen.at_edge else "" for name in chosen.setting}
    return ", ".join(f"{name} {value:g}{edges[name]}" for name, value in chosen.setting.items())


def _name(learner: str) -> str:
    first, _, rest = learner.partition(",")
    return LOOKS[first].name + (f",{rest}" if rest else "")
