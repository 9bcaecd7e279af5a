"""Figures of a step: each says what it means, how it is shown, and what must hold; tables and targets follow."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from load_tests.cluster.logs import Checked
from load_tests.harness.report import Target, at_most, table

LABELS, LOST = "labels acknowledged so far", "acknowledged labels lost, or learnt twice"


@dataclass(frozen=True, slots=True)
class Latency:
    """In milliseconds."""

    p50: float
    p99: float
    worst: float

    def __str__(self) -> str:
        """As a cell of a table."""
        return f"p50 {self.p50:.1f} ms, p99 {self.p99:.1f} ms, worst {self.worst:.1f} ms"


def latency(seconds: Iterable[float]) -> Latency | None:
    """The latency of some requests; None without one."""
    found = 1e3 * np.array(list(seconds))
    return Latency(*np.percentile(found, [50, 99, 100]).tolist()) if found.size else None


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure; `most` is its target, in milliseconds for the p99 of a latency."""

    text: str
    value: int | float | Latency | Checked | None
    form: str = ""
    most: float | None = None

    @property
    def cell(self) -> str:
        """As it is shown."""
        return f"{self.value:,}" if isinstance(self.value, int) else (self.form or "{}").format(self.value)

    def target(self, step: str) -> Target | None:
        """None if there is none; the labels that were acknowledged must be in the logs once."""
        name, value, most = f"{step}: {self.text}", self.value, self.most
        if isinstance(value, Checked):
            name, value, most = f"{step}: {LOST}", value.lost + value.twice + value.broken, 0
        if most is None:
            return None
        if value is None:
            return Target(f"{name}, p99", f"at most {most:g} ms", "nothing", None)
        if isinstance(value, Latency):
            return at_most(f"{name}, p99", most, value.p99, " ms")
        if most:
            return at_most(name, most, value)
        return Target(name, "none", f"{value:,}" if value else "none", value == 0)


class Step:
    """What a step found."""

    def __init__(self, *figures: Figure, tables: Sequence[str] = ()) -> None:
        self.figures = figures
        self.tables = tables

    @property
    def text(self) -> str:
        """As part of the page."""
        rows = ((figure.text, figure.cell) for figure in self.figures)
        return "\n\n".join([*self.tables, table(("what", "measured"), rows)])

    def targets(self, title: str) -> list[Target]:
        """The targets of all figures."""
        return [target for figure in self.figures if (target := figure.target(title))]

    def __getitem__(self, text: str) -> float:
        """The value of the number with this text."""
        (value,) = (figure.value for figure in self.figures if figure.text == text)
        assert isinstance(value, int | float)
        return value
