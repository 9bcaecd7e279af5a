"""The report of a benchmark: tables, targets, and its section of a page in docs/."""

import argparse
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from load_tests.harness.sizes import FULL, QUICK, Sizes

DOCS = Path(__file__).parents[2] / "docs"
PERFORMANCE = DOCS / "performance.md"
COLUMNS = 118  # of text in a page
VERDICTS = {True: "yes", False: "**no**", None: "**not known**"}
STARTED = time.monotonic()

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Target:
    """A promise of speed or memory, and whether the run met it; None if that is not known."""

    text: str
    wanted: str
    measured: str
    met: bool | None


@dataclass(frozen=True, slots=True)
class Report:
    """What a run found."""

    section: str  # its name in the page
    machine: list[str]
    targets: list[Target]
    parts: dict[str, str]  # Markdown by title
    page: Path = PERFORMANCE

    @property
    def text(self) -> str:
        targets = f"### Targets\n{targets_table(self.targets)}"
        parts = (f"### {title}\n{text}" for title, text in self.parts.items())
        return "\n\n".join([bullets(self.machine), targets, *parts])

    def publish(self, *, write: bool) -> int:
        """Print it, write its section of the page, and return the exit code."""
        return publish(self.page, {self.section: self.text}, self.targets, write=write)


def command(name: str, description: str | None, measure: Callable[[Path, Sizes], Report]) -> int:
    """The command line of a benchmark with two sizes; returns the exit code."""
    from load_tests.harness.processes import workspace  # noqa: PLC0415 - experiments report without a service

    parser = argparse.ArgumentParser(prog=f"load_tests.{name}", description=description)
    parser.add_argument("--quick", action="store_true", help="a short trial, which writes nothing")
    quick: bool = parser.parse_args().quick
    with workspace(name) as folder:
        return measure(folder, QUICK if quick else FULL).publish(write=not quick)


def publish(page: Path, sections: Mapping[str, str], targets: Sequence[Target], *, write: bool) -> int:
    """Print sections of a page, write them, and return the exit code."""
    text = filled(page, sections)
    print("", *sections.values(), "", sep="\n\n")
    if write:
        page.write_text(text, encoding="utf-8")
        say(f"wrote {', '.join(sections)} of docs/{page.name}")
    return exit_code(targets)


def say(text: str) -> None:
    print(f"[{time.monotonic() - STARTED:5.0f} s] {text}", flush=True)


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [header, ("---",) * len(header), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def table_of(rows: Iterable[Row], *columns: tuple[str, Callable[[Row], object]]) -> str:
    """A Markdown table with a line for each row; a column is its header and what it shows of a row."""
    return table([header for header, _ in columns], ([show(row) for _, show in columns] for row in rows))


def shown(value: float | None, form: str, unit: str = "", missing: str = "") -> str:
    return missing if value is None else f"{value:{form}}{unit}"


def targets_table(found: Sequence[Target]) -> str:
    """Each target with its measurement, and those that this run missed."""
    rows = ((t.text, t.wanted, t.measured, VERDICTS[t.met]) for t in found)
    missed = [f"- {t.text}: wanted {t.wanted}, measured {t.measured}." for t in found if not t.met]
    summary = "\n".join(["Not met in this run:", *missed]) if missed else "All were met in this run."
    return f"{table(('target', 'wanted', 'measured', 'met'), rows)}\n\n{summary}"


def bullets(facts: Iterable[str]) -> str:
    return "\n".join(f"- {fact}" for fact in facts)


def exit_code(found: Iterable[Target]) -> int:
    """1 if a target was missed. An unknown one is no miss."""
    return int(any(target.met is False for target in found))


def at_most(text: str, wanted: float, measured: float, unit: str = " x") -> Target:
    return Target(text, f"at most {wanted:g}{unit}", f"{measured:.3g}{unit}", measured <= wanted)


def at_least(text: str, wanted: float, measured: float, unit: str = " x") -> Target:
    return Target(text, f"at least {wanted:g}{unit}", f"{measured:.3g}{unit}", measured >= wanted)


def write_section(name: str, text: str, page: Path = PERFORMANCE) -> None:
    """Replace the text between the markers of a section; the rest of the page stays."""
    page.write_text(filled(page, {name: text}), encoding="utf-8")


def filled(page: Path, sections: Mapping[str, str]) -> str:
    """Return a page with new text between the markers of its sections."""
    whole = page.read_text(encoding="utf-8")
    for name, text in sections.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->\n"
        before, found, rest = whole.partition(begin)
        _, closed, after = rest.partition(end)
        if not (found and closed):
            raise ValueError(f"{page.name} has no section between {begin.strip()} and {end.strip()}")
        whole = f"{before}{begin}{text.strip()}\n{end}{after}"
    return whole
