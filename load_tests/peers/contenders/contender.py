"""What a contender is."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import ClassVar

from load_tests.peers.client.jobs import Reading, Request, Wire
from load_tests.peers.examples import Example

JSON = b"application/json"


class Group(Enum):
    """What may be compared with what."""

    LIMIT = "the limit"
    OURS = "Sluice"
    PYTHON = "a Python service"
    DAEMON = "a daemon"
    MAIL = "a mail filter"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a contender that runs is asked."""

    port: int = 0
    folder: str = ""


@dataclass(frozen=True)
class Contender(ABC):
    """Somebody to ask, and to teach."""

    wire: ClassVar[Wire] = "http"
    reading: ClassVar[Reading] = "label"

    name: str
    group: Group
    beside: str  # the row of Sluice that gets the same inputs
    same_work: str = ""  # the row of Sluice that also keeps labels as it does: on the disk, or in memory only
    about: str = ""  # what one should know about this row
    ahead: str = ""  # why it may be faster
    items: int = 1  # examples in a request

    @abstractmethod
    def served(self, folder: Path, connections: int) -> AbstractContextManager[Place]:
        """Start it with no knowledge, for so many connections; it has ended after the block."""

    @abstractmethod
    def predicts(self, examples: Sequence[Example]) -> list[Request]:
        """Ask for verdicts."""

    @abstractmethod
    def learns(self, examples: Sequence[Example]) -> list[Request]:
        """Teach the labels."""

    def played(self, examples: Sequence[Example]) -> list[Request]:
        """Test, then train."""
        pairs = zip(self.predicts(examples), self.learns(examples), strict=True)
        return [request for pair in pairs for request in pair]

    def absent(self) -> str | None:
        """Why it cannot take part, in a sentence."""
        return None


def post(path: str, body: bytes, content_type: bytes = JSON) -> bytes:
    """A request as bytes."""
    head = b"POST %b HTTP/1.1\r\nhost: sluice\r\ncontent-type: %b\r\ncontent-length: %d\r\n\r\n"
    return head % (path.encode(), content_type, len(body)) + body
