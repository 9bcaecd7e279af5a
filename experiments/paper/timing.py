"""The time of one pass at several sparsities: learners take turns, one at a time, on an idle machine."""

import gc
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

import msgspec

from experiments.examples import Examples
from experiments.paper.curves import Fits
from experiments.paper.evaluation import learn, sparsity_of
from experiments.paper.protocol import LEARNERS, PAPERS, Setting
from experiments.paper.split import Split
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
    """A task for each set, with the settings that were chosen there."""
    return [
        Task(STUDY, each.name, 60.0, measure, {"folder": str(each), "entries": _entries(each, fits), "rounds": rounds})
        for each in folders
    ]


def measure(folder: str, entries: list[dict[str, Any]], rounds: int) -> Timing:
    """Let all learn the same examples in turns; the first turn warms up, and gives sparsity and losses."""
    split = Split.open(folder)
    train = split.trained(0)
    settings: list[Setting] = [{**LEARNERS[entry["learner"]].options, **entry["setting"]} for entry in entries]
    looks = [_look(setting, train) for setting in settings]
    seconds: list[list[float]] = [[] for _ in entries]
    for _ in range(rounds):
        for times, setting in zip(seconds, settings, strict=True):
            gc.collect()
            times.append(learn(setting, train).seconds)
    timed = [
        Timed(entry["learner"], float(setting["lambda"]), *look, forced=setting.get("eta") == TINY, seconds=times)
        for entry, setting, look, times in zip(entries, settings, looks, seconds, strict=True)
    ]
    return Timing(split.name, split.train_rows.size, split.nonzeros, timed)


def _look(setting: Setting, train: Iterable[Examples]) -> tuple[float, float]:
    model, _, losses = learn(setting, train)
    return sparsity_of(model), losses


def _entries(folder: Path, fits: Mapping[str, Fits]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for name in LEARNERS_TIMED:
        fit = fits[f"{name} on {folder.name}"].fits[-1]
        strengths = sorted(
            {float(min(fit.curve, key=lambda p: abs(p.runs[0].sparsity - level)).strength) for level in LEVELS}
        )
        found += [{"learner": name, "setting": {**fit.chosen.setting, "lambda": strength}} for strength in strengths]
        if name in FORCED:
            found.append({"learner": name, "setting": {**fit.chosen.setting, "lambda": 0.0, "eta": TINY}})
    return found
