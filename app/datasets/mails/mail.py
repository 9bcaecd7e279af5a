"""A labelled mail, and what can be told of it before it is read."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

LARGEST_MAIL_BYTES = 1 << 26


@dataclass(frozen=True, slots=True)
class Mail:
    """A raw message with its label, and what has been read of the archive or folder when it comes."""

    label: float  # 1.0 or -1.0
    raw: bytes
    done: int
    total: int | None


@dataclass(frozen=True, slots=True)
class Entry:
    """A mail that should be there: where, and with which label."""

    number: int  # its line in the index, else its place in the order
    path: str
    label: float


class Mails(Protocol):
    """Mails in the order in which they are to be learnt."""

    def __iter__(self) -> Iterator[Mail]:
        """Yield each once."""
