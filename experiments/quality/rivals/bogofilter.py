"""How bogofilter plays raw mails."""

import shutil
import subprocess
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from experiments.examples import Examples
from experiments.quality.contenders import Options, Played
from kernels.arrays import Floats

BOGOFILTER = "bogofilter"
CUTOFF = "cutoff"
UNDECIDED = 0.5
MAIL_BLOCK = 20  # mails that are tested before they are registered
MEMORY = Path("/dev/shm")  # noqa: S108 - it syncs its word list at every call


def is_installed() -> bool:
    return shutil.which(BOGOFILTER) is not None


def play_bogofilter(lines: Examples, settings: Sequence[Options]) -> list[Played]:
    """Run bogofilter once; a setting is the probability above which a mail is spam."""
    scores = _spam_probabilities(lines)
    return [Played(scores - float(options[CUTOFF])) for options in settings]


@lru_cache(maxsize=8)
def _spam_probabilities(lines: Examples) -> Floats:
    """Test a few mails in one process, then register them in one for each class."""
    found, knows = np.full(len(lines), UNDECIDED), False  # without a word list, it answers nothing
    with TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        for start in range(0, len(lines), MAIL_BLOCK):
            some = range(start, min(start + MAIL_BLOCK, len(lines)))
            paths = {line: Path(folder) / f"mail-{line}" for line in some}
            for line, path in paths.items():
                path.write_bytes(lines.raws[line])
            if knows:
                answer = _bogofilter(folder, "-T", paths.values()).splitlines()
                found[some.start : some.stop] = [float(each.split()[-1]) for each in answer]
            for option, label in (("-s", 1.0), ("-n", -1.0)):
                if taught := [paths[line] for line in some if lines.labels[line] == label]:
                    _bogofilter(folder, option, taught)
                    knows = True
            for path in paths.values():
                path.unlink()
    return found


def _bogofilter(folder: str, option: str, paths: Iterable[Path]) -> str:
    command = [BOGOFILTER, "-C", option, "-b", "-d", folder, "--db-transaction=no"]
    names = "".join(f"{path}\n" for path in paths)
    return subprocess.run(command, input=names, capture_output=True, check=False, text=True).stdout  # noqa: S603 - fixed
