"""Figures as people read them."""

from collections.abc import Sequence

from app.learning.summary import summarise

__all__ = ["percent", "summarise", "table"]


def percent(share: float | None, digits: int = 2) -> str:
    """A share in percent, or a dash where it is undefined."""
    return "-" if share is None else f"{100.0 * share:.{digits}f}"


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Columns under their heads: the first to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
    rule = ["-" * width for width in widths]
    return "\n".join(_line(line, widths) for line in (head, rule, *lines))


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = (cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
    return "  ".join([first.strip().ljust(widths[0]), *others]).rstrip()
