"""Fills the sections of docs/reproduction.md and draws its figures; the text around them is written by hand."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from experiments.paper import sparsity, timing
from experiments.paper.curves import balanced, by_learner, error, sets_in
from experiments.paper.drift import STUDY as DRIFT
from experiments.paper.evaluation import SPLIT_SEED
from experiments.paper.plan import Findings
from experiments.paper.regret import STUDY as REGRET
from experiments.paper.report import drift, regret, why
from experiments.paper.report.claims import CLAIMS, claims, level_name
from experiments.paper.report.figures import LOOKS, draw_curves, draw_times, picture
from experiments.paper.timing import Timing
from experiments.sets import SOURCES
from load_tests.harness.machine import description
from load_tests.harness.report import DOCS, bullets, filled, table, table_of

TEMPLATE: Final = DOCS / "reproduction.md"
GRIDS: Final = {"paper": "paper's grid", "wider": "wider grid"}


@dataclass(frozen=True, slots=True)
class Page:
    """Results, the titles of sets, and the folder of figures."""

    findings: Findings
    titles: Mapping[str, str]
    figures: Path

    def curves(self) -> dict[str, str]:
        found: dict[str, list[str]] = {"synthetic": [], "real": [], "anomalies": []}
        for study, figure, where in ((sparsity.EVEN, error, ""), (sparsity.RARE, balanced, " at 1:99")):
            results, text = self.findings.of(study), "Test error" if figure is error else "Balanced accuracy"
            for name in sets_in(results):
                title, fits = f"{self.titles[name]}{where}", by_learner(results, name)
                parts = found["anomalies" if where else "synthetic" if name == "synthetic" else "real"]
                parts += [] if name == "synthetic" else [f"### {title}"]
                for grid, words in GRIDS.items():
                    path, full = self.figures / f"{study}-{name}-{grid}.svg", f"{title}, settings of the {words}"
                    draw_curves(full, {who: each.on(grid) for who, each in fits.items()}, figure, path)
                    parts.append(picture(path, f"{text} against sparsity: {full}"))
                rows = ((LOOKS[who].name, *why.level_cells(each, figure)) for who, each in fits.items())
                header = ("algorithm", *map(level_name, why.LEVELS))
                parts.append(f"{text} in %, wider grid:\n\n{table(header, rows)}")
        return {section: "\n\n".join(parts) for section, parts in found.items()}

    def claims(self) -> dict[str, str]:
        both = list(zip(*(claims(self.findings, self.titles, grid) for grid in GRIDS), strict=True))
        header = ("claim", "settings of the paper's grid", "settings of the wider grid")
        found = {f"claim: {name}": "" for name in CLAIMS}
        found["claims"] = table(header, ((a.name, a.summary, b.summary) for a, b in both))
        for a, b in both:
            found[f"claim: {a.name}"] = f"The paper's grid:\n\n{a.table}\n\nThe wider grid:\n\n{b.table}"
        return found

    def time(self) -> str:
        timings: Mapping[str, Timing] = self.findings.of(timing.STUDY)
        if not timings:
            return ""
        path = self.figures / "time.svg"
        draw_times(timings, self.titles, path)
        rows = []
        for name in dict.fromkeys(timed.learner for each in timings.values() for timed in each.timed):
            losses = [[100 * timed.losses for timed in each.of(name)] for each in timings.values()]
            costs = [f"{each.cost(name):.1f} ns" for each in timings.values()]
            cells = [f"{c} ({x[0]:.0f} to {x[-1]:.0f}% with a loss)" for c, x in zip(costs, losses, strict=True)]
            rows.append((LOOKS[name].name, *cells))
        header = ("algorithm", *(self.titles[name] for name in timings))
        return f"{picture(path, 'Time of one pass against sparsity')}\n\n{table(header, rows)}"

    def sets(self) -> str:
        return table_of(
            self.findings.facts.values(),
            ("set", lambda f: self.titles[f.name]),
            ("train", lambda f: f"{f.train if f.test is not None else f.train - round(0.2 * f.train):,}"),
            ("test", lambda f: f"{f.test if f.test is not None else round(0.2 * f.train):,}"),
            ("features", lambda f: f"{f.features:,}"),
            ("non-zeros", lambda f: f"{f.nonzeros:,}"),
            ("positives %", lambda f: f"{100 * f.positives / (f.train + (f.test or 0)):.1f}"),
        )

    def settings(self) -> str:
        parts = []
        for study, where in ((sparsity.EVEN, ""), (sparsity.RARE, ", 1:99")):
            found = self.findings.of(study)
            ordered = [fits for name in sets_in(found) for fits in by_learner(found, name).values()]
            if ordered:
                parts.append(
                    table_of(
                        ordered,
                        ("set", lambda f, where=where: self.titles[f.set] + where),  # type: ignore[misc]
                        ("algorithm", lambda f: LOOKS[f.learner].name),
                        ("the paper's grid", lambda f: why.setting_text(f, "paper")),
                        ("loss there %", lambda f: f"{100 * f.on('paper').chosen.loss:.2f}"),
                        ("beyond its edges", lambda f: why.setting_text(f, "wider") if len(f.fits) > 1 else "the same"),
                        ("loss %", lambda f: f"{100 * f.on('wider').chosen.loss:.2f}"),
                        ("settings tried", lambda f: sum(fit.chosen.tried for fit in f.fits)),
                    )
                )
        return "\n\n".join(parts)

    def run(self) -> str:
        found = self.findings
        resumed = f"; {found.resumed} tasks had been done by an earlier run" if found.resumed else ""
        facts = [
            *description(("numpy", "numba", "scipy", "matplotlib")),
            f"Duration: {found.seconds / 60:.1f} minutes on {os.cpu_count()} cores{resumed}",
            f"Seeds: {SPLIT_SEED} (and the number of the repeat) for splits, samples and permutations",
            f"Repeats: {found.sizes.repeats}; rounds of the timing: {found.sizes.timings}",
        ]
        return bullets(facts)


def write(findings: Findings, path: Path) -> None:
    """Write the page and its figures; those of an earlier run are removed."""
    figures = path.parent / path.stem
    shutil.rmtree(figures, ignore_errors=True)
    figures.mkdir(parents=True)
    titles = {name: SOURCES[name].title if name in SOURCES else name for name in findings.facts}
    page = Page(findings, titles, figures)
    sections = {
        **page.claims(),
        **page.curves(),
        "time": page.time(),
        **why.sections(findings, titles),
        **regret.sections(list(findings.of(REGRET).values()), figures),
        **drift.sections(list(findings.of(DRIFT).values()), figures),
        "sets": page.sets(),
        "settings": page.settings(),
        "run": page.run(),
    }
    path.write_text(filled(TEMPLATE, sections), encoding="utf-8")
