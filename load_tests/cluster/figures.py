"""Figures of a step: a field says what it means, how it is shown, and what must hold; tables and targets follow."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, get_type_hints

import numpy as np

from load_tests.cluster.logs import Checked
from load_tests.harness.report import Target, at_most, table

LOST = "acknowledged labels lost, or learnt twice"


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
    """Annotates a field that is shown; `most` is its target, in milliseconds for the p99 of a latency."""

    text: str
    form: str = ""
    most: float | None = None


def figures_of(step: object) -> list[tuple[Figure, Any]]:
    """The annotated fields of a step, with their values."""
    hints = get_type_hints(type(step), include_extras=True)
    return [(of, getattr(step, name)) for name, hint in hints.items() for of in getattr(hint, "__metadata__", ())]


def figures_table(step: object) -> str:
    """The figures of a step."""
    cells = ((of, "{:,}" if isinstance(value, int) else of.form or "{}", value) for of, value in figures_of(step))
    return table(("what", "measured"), ((of.text, form.format(value)) for of, form, value in cells))


def targets_of(title: str, step: object) -> list[Target]:
    """The targets of a step: what `most` says, and that no label is lost or learnt twice."""
    found = []
    for of, value in figures_of(step):
        if isinstance(value, Checked):
            found.append(_target(f"{title}: {LOST}", value.lost + value.twice + value.broken, 0))
        elif of.most is not None:
            found.append(_target(f"{title}: {of.text}", value, of.most))
    return found


def _target(name: str, value: Latency | float | None, most: float) -> Target:
    if isinstance(value, Latency):
        return at_most(f"{name}, p99", most, value.p99, " ms")
    if value is None:
        return Target(f"{name}, p99", f"at most {most:g} ms", "nothing", None)
    if most:
        return at_most(name, most, value)
    return Target(name, "none", f"{value:,}" if value else "none", value == 0)
