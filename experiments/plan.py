"""The whole study in its order: sets, then what can be done side by side, then what must be alone."""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from experiments import preparing, running
from experiments.findings import Findings
from experiments.report.page import write
from experiments.sets.registry import SOURCES
from experiments.sizes import Sizes
from experiments.studies import drift, regret, selection, sparsity, timing
from experiments.task import Task

EVEN: Final = ("synthetic", "pcmac", "news", "a9a", "w8a", "phishstorm", "pdd", "trec07p")
RARE: Final = ("phishstorm", "mails")
TIMED: Final = ("synthetic", "news", "phishstorm", "trec07p")
OPTIONS_EVEN: Final = ("synthetic", "pcmac", "a9a", "w8a", "phishstorm", "pdd")
OPTIONS_RARE: Final = ("phishstorm", "mails")


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be run, and where everything goes."""

    sizes: Sizes
    work: Path
    page: Path
    given: Sequence[tuple[str, list[str]]] = ()
    processes: int | None = None
    only: set[str] = field(default_factory=set)

    def folders(self, names: Sequence[str], *, with_given: bool = False) -> list[Path]:
        """Where those of the sets are that take part."""
        chosen = [name for name in names if name in self.names]
        return [preparing.folder_of(self.work, name) for name in [*chosen, *(dict(self.given) if with_given else ())]]

    @property
    def names(self) -> list[str]:
        """The sets of ours that take part: those that are wanted and there."""
        wanted = [name for name in dict.fromkeys((*EVEN, *RARE)) if not self.only or name in self.only]
        return [name for name in wanted if not SOURCES[name].absent()]


def run(plan: Plan) -> None:
    """Do all of it, and write the page."""
    start = time.monotonic()
    _tell_absent(plan)
    sizes, results = plan.sizes, plan.work / "results"
    prepared = preparing.tasks(plan.names, dict(plan.given), plan.work, sizes.examples)
    facts = running.do(prepared, preparing.sets_folder(plan.work), plan.processes)

    tasks = sparsity.even_tasks(plan.folders(EVEN, with_given=True), sizes)
    tasks += sparsity.rare_tasks(plan.folders(RARE), sizes)
    some = slice(1) if sizes.is_quick else slice(None)
    tasks += sparsity.option_tasks(plan.folders(OPTIONS_EVEN[some]), plan.folders(OPTIONS_RARE[some]), sizes)
    if not plan.only:
        tasks += regret.tasks(quick=sizes.is_quick) + _drift_tasks(sizes)
    resumed = len(tasks) - len(running.missing_of(tasks, results))
    found = running.do(tasks, results, plan.processes)
    for folder in plan.folders(["synthetic"]):
        chosen = selection.tasks(folder, found[sparsity.EVEN], found[sparsity.OPTIONS])
        found |= running.do(chosen, results, plan.processes)
    alone = timing.tasks(plan.folders(TIMED, with_given=True), found[sparsity.EVEN], sizes.timings)
    found |= running.do(alone, results, processes=1)
    write(Findings(facts[preparing.STUDY], found, sizes, time.monotonic() - start, resumed), plan.page)


def _drift_tasks(sizes: Sizes) -> list[Task]:
    tasks = drift.tasks(quick=sizes.is_quick)
    return [task for task in tasks if not SOURCES[drift.source_of(task)].absent()]


def _tell_absent(plan: Plan) -> None:
    for name in (*EVEN, *RARE):
        absent = SOURCES[name].absent()
        if absent and (not plan.only or name in plan.only):
            print(f"{name} is left out: {absent[0]} is absent (SLUICE_DATA names the folder)", file=sys.stderr)
