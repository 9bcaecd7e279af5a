"""Dataset errors, and what happens at a malformed line: reading stops, or the line is reported and skipped."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from app.learning.errors import SluiceError

OnError = Literal["stop", "skip"]
Report = Callable[[int, str], None]


class DatasetError(SluiceError):
    """A file that cannot be read as a dataset; the message names the file, the line if there is one, and the reason."""

    def __init__(self, name: str, reason: str, line_number: int | None = None) -> None:
        place = name if line_number is None else f"{name}:{line_number}"
        super().__init__(f"{place}: {reason}")
        self.name = name
        self.reason = reason
        self.line_number = line_number


class MalformedLine(Exception):
    """A line that is not an example; the message says why."""


@dataclass(slots=True)
class LineErrors:
    """The malformed lines of one file. With "stop", `fatal` is raised once the examples before it are delivered."""

    name: str
    on_error: OnError = "stop"
    report: Report | None = None
    fatal: DatasetError | None = None

    def record(self, line_number: int, reason: str) -> bool:
        """Record a malformed line; return whether to continue after it."""
        if self.on_error == "stop":
            self.fatal = DatasetError(self.name, reason, line_number)
            return False
        if self.report is not None:
            self.report(line_number, reason)
        return True


@dataclass(slots=True)
class SkippedLines:
    """A report that counts the skipped lines and keeps the first few."""

    keep: int = 5
    total: int = 0
    first: list[tuple[int, str]] = field(default_factory=list)

    def __call__(self, line_number: int, reason: str) -> None:
        """Count a line; keep its number and the reason if it is one of the first."""
        self.total += 1
        if len(self.first) < self.keep:
            self.first.append((line_number, reason))
