"""What happens to a line that is not an example: it stops the reading, or it is reported and skipped."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from app.datasets.errors import DatasetError

OnError = Literal["stop", "skip"]
Report = Callable[[int, str], None]


@dataclass(slots=True)
class SkippedLines:
    """A report that counts the skipped lines and keeps the first few."""

    keep: int = 5
    total: int = 0
    first: list[tuple[int, str]] = field(default_factory=list)

    def __call__(self, line_number: int, reason: str) -> None:
        """Count a line; keep what is wrong with it if it is one of the first."""
        self.total += 1
        if len(self.first) < self.keep:
            self.first.append((line_number, reason))


@dataclass(slots=True)
class Faults:
    """The bad lines of one file; with "stop" the first of them is kept until the examples before it are delivered."""

    name: str
    on_error: OnError = "stop"
    report: Report | None = None
    fatal: DatasetError | None = None

    def note(self, line_number: int, reason: str) -> bool:
        """Take note of a bad line; return whether to go on after it."""
        if self.on_error == "stop":
            self.fatal = DatasetError(self.name, reason, line_number)
            return False
        if self.report is not None:
            self.report(line_number, reason)
        return True
