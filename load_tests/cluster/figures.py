"""Figures of a step: each says what it means, how it is shown, and what must hold; tables and targets follow."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from load_tests.cluster.logs import Checked
from load_tests.harness.jobs import Percentiles, percentiles
from load_tests.harness.report import Target, at_most, table

LABELS, LOST = "labels acknowledged so far", "acknowledged labels lost, or learnt twice"


def latency(seconds: Iterable[float]) -> Percentiles | None:
    """The latency of some requests; None without one."""
    found = np.array(list(seconds))
    return percentiles(found) if found.size else None


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure; `most` is its target, in milliseconds for the p99 of a latency."""

    text: str
    value: int | float | Percentiles | Checked | None
    form: str = ""
    most: float | None = None

    @property
    def cell(self) -> str:
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
        if isinstance(value, Percentiles):
            return at_most(f"{name}, p99", most, value.p99, " ms")
        if most:
            return at_most(name, most, value)
        return Target(name, "none", f"{value:,}" if value else "none", value == 0)


class Step:
    """What a step found."""

    def __init__(self, *figures: Figure, tables: Sequence[str] = ()) -> None:
        self.values = {figure.text: figure.value for figure in figures}
        self.text = "\n\n".join([*tables, table(("what", "measured"), ((each.text, each.cell) for each in figures))])
        self._figures = figures

    def targets(self, title: str) -> list[Target]:
        return [target for figure in self._figures if (target := figure.target(title))]
