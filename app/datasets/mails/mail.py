"""A labelled mail, and its entry in an index or folder before it is read."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

LARGEST_MAIL_BYTES = 1 << 26


@dataclass(frozen=True, slots=True)
class Mail:
    """A raw message with its label, and the progress through the archive or folder."""

    label: float  # 1.0 or -1.0
    raw: bytes
    done: int  # bytes
    total: int | None


@dataclass(frozen=True, slots=True)
class Entry:
    """The path and label of a mail that the archive or folder should hold."""

    number: int  # line in the index, else position in the order
    path: str
    label: float


class Mails(Protocol):
    """Mails in the order in which they are learnt."""

    def __iter__(self) -> Iterator[Mail]:
        """Yield each once."""
