"""What can be wrong with a dataset."""

from app.learning.errors import SluiceError


class DatasetError(SluiceError):
    """A file cannot be read as a dataset; the sentence names the file, the line where there is one, and the reason."""

    def __init__(self, name: str, reason: str, line_number: int | None = None) -> None:
        place = name if line_number is None else f"{name}:{line_number}"
        super().__init__(f"{place}: {reason}")
        self.name = name
        self.reason = reason
        self.line_number = line_number


class MalformedLine(Exception):
    """A line is not an example; the sentence says why."""
