"""bogofilter, a mail filter with tokens of its own: a process to test each raw mail, and one to register it after."""

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from load_tests.quality.contenders.contender import Options, Played
from load_tests.quality.stream import Stream

PROGRAM = "bogofilter"
MEMORY = Path("/dev/shm")  # noqa: S108 - it writes its word list through to the disk at every mail
SECONDS_PER_MAIL = 0.012
NO_WORD_LIST = 3  # what it returns before the first mail is registered
UNDECIDED = 0.5


@dataclass(frozen=True, slots=True)
class Bogofilter:
    """The filter under its defaults; a mail is spam if its probability is above one half."""

    name: str = "bogofilter, raw mails"
    limit: int | None = None
    tuned_on: int | None = None

    def seconds(self, examples: int, nonzeros: int) -> float:  # noqa: ARG002 - it has tokens of its own
        """About what one setting takes for a stream."""
        return SECONDS_PER_MAIL * examples

    def settings(self, *, rare: bool) -> Sequence[Options]:  # noqa: ARG002 - the same for both: nothing is tuned
        """None but its own."""
        return [{}]

    def play(self, stream: Stream, settings: Sequence[Options]) -> list[Played]:
        """Test, then train, over a stream, anew for each of the settings."""
        return [_played(stream) for _ in settings]


def is_installed() -> bool:
    """Whether the program is there."""
    return shutil.which(PROGRAM) is not None


def _played(stream: Stream) -> Played:
    scores = np.empty(len(stream))
    with TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        words = Path(folder) / "words"
        words.mkdir()
        for i, (raw, label) in enumerate(zip(stream.raws, stream.labels.tolist(), strict=True)):
            scores[i] = _probability(raw, words) - UNDECIDED
            _run(raw, words, "-s" if label > 0.0 else "-n")
    return Played(scores)


def _probability(raw: bytes, words: Path) -> float:
    answer = _run(raw, words, "-T")
    if answer.returncode == NO_WORD_LIST:
        return UNDECIDED
    return float(answer.stdout.split()[1])


def _run(raw: bytes, words: Path, option: str) -> subprocess.CompletedProcess[bytes]:
    command = [PROGRAM, "-C", option, "-d", str(words), "--db-transaction=no"]
    return subprocess.run(command, input=raw, capture_output=True, check=False)  # noqa: S603 - a fixed command
