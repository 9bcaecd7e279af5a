"""bogofilter: a process to test each raw mail, and one to register it after, as mail delivery runs it."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

from load_tests.peers.client.jobs import Reading, Request, Wire
from load_tests.peers.contenders.contender import Contender, Place
from load_tests.peers.examples import Example

PROGRAM = "bogofilter"
MEMORY = Path("/dev/shm")  # noqa: S108 - it writes its word list through to the disk at every mail
OPTIONS = b"-C -d words --db-transaction=no"


@dataclass(frozen=True)
class Bogofilter(Contender):
    """The filter under its defaults; a mail is spam if its probability is above one half."""

    wire: ClassVar[Wire] = "programs"
    reading: ClassVar[Reading] = "probability"

    @contextmanager
    def served(self, folder: Path, connections: int) -> Iterator[Place]:  # noqa: ARG002 - no server is to be started
        """Give it an empty folder, in memory if there is one."""
        with TemporaryDirectory(prefix="sluice-peers-", dir=MEMORY if MEMORY.is_dir() else folder) as place:
            (Path(place) / "words").mkdir()
            yield Place(folder=place)

    def predicts(self, examples: Sequence[Example]) -> list[Request]:
        """Test."""
        return [Request(_run(b"-T", each.raw), judged=True) for each in examples]

    def learns(self, examples: Sequence[Example]) -> list[Request]:
        """Register as spam or as ham."""
        return [Request(_run(b"-s" if each.label > 0 else b"-n", each.raw), learns=True) for each in examples]

    def absent(self) -> str | None:
        """The program may be missing."""
        return None if shutil.which(PROGRAM) else "bogofilter is not installed: on Debian, `apt-get install bogofilter`"


def _run(option: bytes, raw: bytes) -> bytes:
    return b"%b %b %b\n%b" % (PROGRAM.encode(), option, OPTIONS, raw)
