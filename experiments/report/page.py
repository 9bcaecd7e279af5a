"""Writes the page and its figures."""

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from experiments.curves import Figure, balanced, by_learner, error, fit_on, sets_in
from experiments.figures import timing as timing_figure
from experiments.figures.sparsity import draw_balance, draw_errors
from experiments.findings import Findings
from experiments.fitting import Fit, Fits
from experiments.report import drift, regret, tables, texts, why
from experiments.report.claims import claims
from experiments.sets.registry import SOURCES
from experiments.splits import SPLIT_SEED
from load_tests.harness.machine import description

GRIDS: Final = ("paper", "wider")
GRID_TITLES: Final = {"paper": "paper's grid", "wider": "wider grid"}


@dataclass(frozen=True, slots=True)
class Kind:
    """What is drawn against sparsity."""

    text: str
    figure: Figure
    draw: Callable[[str, Mapping[str, Fit], Figure, Path], None]


ERRORS: Final = Kind("Test error", error, draw_errors)
BALANCE: Final = Kind("Balanced accuracy", balanced, draw_balance)


@dataclass(frozen=True, slots=True)
class Page:
    """What is shown, and where its figures go."""

    findings: Findings
    figures: Path

    @property
    def titles(self) -> dict[str, str]:
        """How sets are called."""
        return {name: SOURCES[name].title if name in SOURCES else name for name in self.findings.facts}

    def picture(self, name: str, text: str) -> str:
        """A figure, as the page shows it."""
        return f"![{text}]({self.figures.name}/{name})"


def write(findings: Findings, path: Path) -> None:
    """Write everything; the figures of an earlier run go."""
    page = Page(findings, path.parent / path.stem)
    shutil.rmtree(page.figures, ignore_errors=True)
    page.figures.mkdir(parents=True)
    sections = [
        texts.HEAD,
        _claims(page),
        texts.PROTOCOL,
        _errors(page),
        _balance(page),
        _times(page),
        _options(page),
        why.section(page.findings, page.titles),
        _regret(page),
        _drift(page),
        _sets(page),
        _settings(page),
        _run(page),
    ]
    path.write_text("\n\n".join(section for section in sections if section) + "\n", encoding="utf-8")


def _claims(page: Page) -> str:
    paper, wider = (claims(page.findings, page.titles, grid) for grid in GRIDS)
    parts = [texts.CLAIMS, tables.summary(paper, wider)]
    for claim, other in zip(paper, wider, strict=True):
        parts += [f"### {claim.name}\n\nHolds if {claim.rule}."]
        parts += [f"The paper's grid:\n\n{tables.verdicts(claim)}", f"The wider grid:\n\n{tables.verdicts(other)}"]
    return "\n\n".join(parts)


def _errors(page: Page) -> str:
    parts = []
    for name in sets_in(page.findings.even):
        parts += [texts.SYNTHETIC if name == "synthetic" else f"### {page.titles[name]}"]
        parts += [texts.REAL] if name != "synthetic" and texts.REAL not in parts else []
        fits = by_learner(page.findings.even, name)
        parts += _curves(page, f"sparsity-{name}", page.titles[name], fits, ERRORS)
    return "\n\n".join(parts)


def _balance(page: Page) -> str:
    parts = [texts.RARE]
    for name in sets_in(page.findings.rare):
        title = f"{page.titles[name]} at 1:99"
        fits = by_learner(page.findings.rare, name)
        parts += [f"### {title}", *_curves(page, f"anomalies-{name}", title, fits, BALANCE)]
    return "\n\n".join(parts) if len(parts) > 1 else ""


def _curves(page: Page, file: str, title: str, fits: Mapping[str, Fits], kind: Kind) -> list[str]:
    """A figure for each grid, and the table of the wider one."""
    parts = []
    for grid in GRIDS:
        name, full = f"{file}-{grid}.svg", f"{title}, settings of the {GRID_TITLES[grid]}"
        kind.draw(full, {who: fit_on(each, grid) for who, each in fits.items()}, kind.figure, page.figures / name)
        parts.append(page.picture(name, f"{kind.text} against sparsity: {full}"))
    return [*parts, f"{kind.text} in %, wider grid:\n\n" + tables.values(fits, "wider", kind.figure)]


def _times(page: Page) -> str:
    timings = page.findings.timing
    if not timings:
        return ""
    timing_figure.draw(timings, page.titles, page.figures / "time.svg")
    picture = page.picture("time.svg", "Time of one pass against sparsity")
    return "\n\n".join([texts.TIME, picture, tables.times(timings, page.titles)])


def _options(page: Page) -> str:
    found = page.findings
    parts = [
        f"### {page.titles[name]}{text}\n\n" + tables.options(base[f"{learner} on {name}"], found.options, figure)
        for learner, base, figure, text in (
            ("ssol", found.even, error, ": SSOL, test error %"),
            ("cs-ssol", found.rare, balanced, " at 1:99: CS-SSOL, balanced accuracy %"),
        )
        for name in sets_in({key: fits for key, fits in found.options.items() if fits.learner == learner})
    ]
    return "\n\n".join([texts.OPTIONS, *parts]) if parts else ""


def _regret(page: Page) -> str:
    found = page.findings.regret
    return regret.section(found, page.figures) if found else ""


def _drift(page: Page) -> str:
    found = page.findings.drift
    return drift.section(found, page.figures) if found else ""


def _sets(page: Page) -> str:
    told = [f"- **{SOURCES[name].title}**: {SOURCES[name].text}" for name in page.findings.facts if name in SOURCES]
    return "\n\n".join([texts.SETS, tables.sets(page.findings.facts, page.titles), "\n".join(told)])


def _settings(page: Page) -> str:
    rare = {name: f"{title}, 1:99" for name, title in page.titles.items()}
    found = [tables.settings(page.findings.even, page.titles)]
    found += [tables.settings(page.findings.rare, rare)] if page.findings.rare else []
    return "\n\n".join([texts.SETTINGS, *found])


def _run(page: Page) -> str:
    """What it ran on, and how long."""
    facts = [
        *description(("numpy", "numba", "scipy", "matplotlib")),
        f"Duration: {page.findings.seconds / 60:.1f} minutes on {os.cpu_count()} cores" + _resumed(page.findings),
        f"Seeds: {SPLIT_SEED} (and the number of the repeat) for splits, samples and permutations",
        f"Repeats: {page.findings.sizes.repeats}; rounds of the timing: {page.findings.sizes.timings}",
    ]
    return "\n".join([texts.RUN, "", *(f"- {fact}" for fact in facts)])


def _resumed(findings: Findings) -> str:
    return f"; {findings.resumed} tasks had been done by an earlier run" if findings.resumed else ""
