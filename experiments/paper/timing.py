"""The time of one pass at several sparsities: learners take turns, one at a time, on an idle machine."""

import gc
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Final

import msgspec

from experiments.paper.curves import Fits
from experiments.paper.evaluation import Split, learn
from experiments.paper.protocol import LEARNERS, PAPERS, Setting
from experiments.tasks import Task

STUDY: Final = "timing"
LEVELS: Final = (0.0, 0.5, 0.8, 0.9, 0.98)
LEARNERS_TIMED: Final = (*PAPERS, "ftrl")
FORCED: Final = ("fsol", "ada-fobos", "ada-rda", "ssol")
TINY: Final = 1e-9


class Timed(msgspec.Struct, frozen=True):
    """A learner at a lambda: the time of one pass in each round."""

    learner: str
    strength: float
    sparsity: float
    losses: float  # share of the examples whose margin was below 1
    forced: bool  # the rate is so small that every example has a loss
    seconds: list[float]


class Timing(msgspec.Struct, frozen=True):
    """All learners on a set."""

    set: str
    examples: int
    nonzeros: int
    timed: list[Timed]

    def of(self, learner: str, *, forced: bool = False) -> list[Timed]:
        """A learner at several sparsities, ascending."""
        own = [timed for timed in self.timed if (timed.learner, timed.forced) == (learner, forced)]
        return sorted(own, key=lambda timed: timed.sparsity)

    def cost(self, learner: str, *, forced: bool = False) -> float:
        """Nanoseconds per non-zero: the median over sparsities of the median over rounds."""
        return 1e9 * median(median(timed.seconds) for timed in self.of(learner, forced=forced)) / self.nonzeros


def tasks(folders: Sequence[Path], fits: Mapping[str, Fits], rounds: int) -> list[Task]:
    found = []
    for folder in folders:
        entries: list[tuple[str, dict[str, float]]] = []
        for name in LEARNERS_TIMED:
            fit = fits[f"{name} on {folder.name}"].fits[-1]
            settings = {setting["lambda"]: setting for setting in map(fit.setting_at, LEVELS)}
            entries += [(name, settings[strength]) for strength in sorted(settings)]
            if name in FORCED:
                entries.append((name, {**fit.chosen.setting, "lambda": 0.0, "eta": TINY}))
        arguments = {"folder": str(folder), "entries": entries, "rounds": rounds}
        found.append(Task(STUDY, folder.name, 60.0, measure, arguments))
    return found


def measure(folder: str, entries: list[tuple[str, Setting]], rounds: int) -> Timing:
    """Let all learn the same examples in turns; the first turn warms up, and gives sparsity and losses."""
    split = Split.open(folder)
    train = split.trained(0)
    timed = []
    for learner, chosen in entries:
        looked = learn({**LEARNERS[learner].options, **chosen}, train)
        forced = chosen.get("eta") == TINY
        timed.append(Timed(learner, float(chosen["lambda"]), looked.sparsity, looked.losses, forced, []))
    for _ in range(rounds):
        for each, (learner, chosen) in zip(timed, entries, strict=True):
            gc.collect()
            each.seconds.append(learn({**LEARNERS[learner].options, **chosen}, train).seconds)
    return Timing(split.name, split.train_rows.size, split.nonzeros, timed)
