"""What is played, in which order: sizes of a run, and its tasks."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.quality.streams import (
    JPCERT,
    NATURAL,
    PDD,
    PHISHSTORM,
    PHISHTANK,
    RATIOS,
    TREC,
    TREC_BEGINNING,
    streams,
)
from experiments.quality.study import change, evaluate, has_cold_starts, has_scenarios
from experiments.quality.verdicts import Outcome
from experiments.tasks import Task

STUDY = "quality"
CHANGES = "changes"  # the second study: scenarios and cold starts, with what was best without them
SECONDS = {  # about, for each ratio; others take 20
    "a9a": 25.0,
    "w8a": 30.0,
    "logs": 30.0,
    "lingspam": 40.0,
    "payments": 60.0,
    "mixed": 60.0,
    "two-tailed": 60.0,
    "sensors": 60.0,
    "units": 60.0,
    "spamassassin": 45.0,
    PDD: 55.0,
    TREC_BEGINNING: 80.0,
    "elec2": 90.0,
    "news": 90.0,
    "enron": 100.0,
    PHISHSTORM: 120.0,
    TREC: 150.0,
    JPCERT: 160.0,
    PHISHTANK: 200.0,
}


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is played."""

    streams: tuple[str, ...]
    ratios: tuple[str, ...]
    examples: int | None  # of each stream at most
    seeds: tuple[int, ...]
    searched: int  # seeds on which points of a grid are searched
    moves: int  # of a search
    starts: int  # cold ones of each stream and ratio


WHOLE = Sizes(tuple(streams()), tuple(RATIOS), None, (1, 2, 3, 4, 5), 2, 20, 10)
QUICK = Sizes((PDD, "sms", "breast-cancer", "payments"), (NATURAL, "1:19"), 1000, (1, 2), 1, 1, 2)


def tasks(sizes: Sizes, names: Iterable[str], work: Path) -> list[Task]:
    """All streams at all ratios: the natural one and the rarest before the others, small streams before large ones."""
    order = {ratio: number for number, ratio in enumerate((NATURAL, "1:99", "1:9", "1:19"))}
    cells = [(name, ratio) for name in names for ratio in sizes.ratios]
    cells.sort(key=lambda cell: (order[cell[1]] > 1, _seconds(cell[0]), cell[0], order[cell[1]]))
    return [_task(STUDY, evaluate, name, ratio, sizes, work) for name, ratio in cells]


def change_tasks(sizes: Sizes, cells: Iterable[tuple[str, str]], work: Path) -> list[Task]:
    """The scenarios and cold starts of these streams and ratios, which have been searched."""
    some = [cell for cell in cells if has_scenarios(*cell) or has_cold_starts(*cell)]
    some.sort(key=lambda cell: (not has_scenarios(*cell), _seconds(cell[0])))
    return [_task(CHANGES, change, name, ratio, sizes, work) for name, ratio in some]


def _task(  # noqa: PLR0913, PLR0917 - what the task is, and its arguments
    study: str, call: Callable[..., Outcome], name: str, ratio: str, sizes: Sizes, work: Path
) -> Task:
    arguments: dict[str, Any] = {
        "name": name,
        "ratio": ratio,
        "work": str(work),
        "limit": sizes.examples,
        "seeds": list(sizes.seeds),
        "searched": sizes.searched,
        "moves": sizes.moves,
    }
    if call is change:
        arguments["starts"] = sizes.starts
    return Task(study, f"{name} {ratio}", _seconds(name), call, arguments)


def _seconds(name: str) -> float:
    return SECONDS.get(name, 20.0)
