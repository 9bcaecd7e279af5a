"""The whole study in order: sets, then tasks that run side by side, then tasks that must run alone."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from experiments.paper import drift, regret, sparsity, timing
from experiments.paper.protocol import Sizes
from experiments.preparation import Facts, prepare_sets, sets_folder
from experiments.sets import SOURCES
from experiments.tasks import Found, log, missing_of, run

EVEN: Final = ("synthetic", "pcmac", "news", "a9a", "w8a", "phishstorm", "pdd", "trec07p")
RARE: Final = ("phishstorm", "mails")
TIMED: Final = ("synthetic", "news", "phishstorm", "trec07p")
OPTIONS_EVEN: Final = ("synthetic", "pcmac", "a9a", "w8a", "phishstorm", "pdd")
OPTIONS_RARE: Final = ("phishstorm", "mails")


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run, and where results go."""

    sizes: Sizes
    work: Path
    given: Mapping[str, list[str]] = field(default_factory=dict)  # files of the user's own sets
    processes: int | None = None
    only: Sequence[str] = ()

    def folders(self, names: Sequence[str], *, with_given: bool = False) -> list[Path]:
        chosen = [name for name in names if name in self.names]
        return [sets_folder(self.work) / name for name in [*chosen, *(self.given if with_given else ())]]

    @property
    def names(self) -> list[str]:
        return [name for name in self.wanted if not SOURCES[name].absent()]

    @property
    def wanted(self) -> list[str]:
        return [name for name in dict.fromkeys((*EVEN, *RARE)) if not self.only or name in self.only]


@dataclass(frozen=True, slots=True)
class Findings:
    """All results, by study and by the name of the task."""

    facts: Mapping[str, Facts]
    found: Found
    sizes: Sizes
    seconds: float  # of this run
    resumed: int = 0  # tasks that an earlier run had done

    def of(self, study: str) -> Mapping[str, Any]:
        return self.found.get(study, {})


def run_plan(plan: Plan) -> Findings:
    start, sizes, results = time.monotonic(), plan.sizes, plan.work / "results"
    for name in plan.wanted:
        if absent := SOURCES[name].absent():
            log(f"{name} is left out: {absent[0]} is absent (SLUICE_DATA names the folder)")
    facts = prepare_sets(plan.names, plan.given, plan.work, sizes.examples, plan.processes)
    some = slice(1) if sizes.is_quick else slice(None)
    tasks = sparsity.curve_tasks(plan.folders(EVEN, with_given=True), plan.folders(RARE), sizes)
    tasks += sparsity.option_tasks(plan.folders(OPTIONS_EVEN[some]), plan.folders(OPTIONS_RARE[some]), sizes)
    if not plan.only:
        tasks += regret.tasks(sizes) + drift.tasks(sizes)
    resumed = len(tasks) - len(missing_of(tasks, results))
    found = run(tasks, results, plan.processes)
    even = found[sparsity.EVEN]
    for folder in plan.folders(["synthetic"]):
        found |= run(sparsity.selection_tasks(folder, even, found[sparsity.OPTIONS]), results, plan.processes)
    alone = timing.tasks(plan.folders(TIMED, with_given=True), even, sizes.timings)
    found |= run(alone, results, processes=1)
    return Findings(facts, found, sizes, time.monotonic() - start, resumed)
