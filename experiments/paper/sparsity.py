"""Tasks: error against sparsity, balanced accuracy of rare anomalies, options, and the features that are kept."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from experiments.paper.curves import Fits, fit
from experiments.paper.evaluation import Split, learn
from experiments.paper.protocol import ALL, EVEN_ONES, LEARNERS, PAPERS, Setting, Sizes
from experiments.sets.synthetic import EFFECTIVE, KEYS
from experiments.tasks import Task

EVEN: Final = "sparsity"
RARE: Final = "anomalies"
OPTIONS: Final = "options"
SELECTION: Final = "selection"
NANOSECONDS: Final = 30.0  # of one non-zero, about
SELECTION_LEVEL: Final = 0.9  # of the synthetic set: as many weights are left as features decide

COMMON: Final[dict[str, Setting]] = {
    "denominator coordinate": {"denominator": "coordinate"},
    "lambda / t": {"lambda_schedule": "inverse_t"},
    "lambda sqrt(t)": {"lambda_schedule": "sqrt_t"},
    "lambda t": {"lambda_schedule": "linear"},
    "threshold on theta": {"threshold_on": "theta"},
    "not normalised": {"normalize": "none"},
}
GEOMETRIC: Final = 99.0**0.5
VARIANTS: Final[dict[str, dict[str, Setting]]] = {
    "ssol": COMMON,
    "cs-ssol": {
        **COMMON,
        "costs 9.9 and 0.1": {"cost_positive": GEOMETRIC, "cost_negative": 1.0 / GEOMETRIC},
        "costs estimated": {"costs": "auto"},
    },
}


class Kept(msgspec.Struct, frozen=True):
    """A learner at about 90% sparsity: how many features of each kind have a weight, and their mean evidence."""

    learner: str
    sparsity: float
    deciding: int
    noise: int
    evidence_deciding: float  # 1 / A^-1 - 1 for SSOL; 0 for learners without evidence
    evidence_noise: float


def curve_tasks(even: Sequence[Path], rare: Sequence[Path], sizes: Sizes) -> list[Task]:
    """All learners without costs on each set, and all learners with anomalies at 1:99."""
    found = [_task(EVEN, folder, name, sizes) for folder in even for name in EVEN_ONES]
    return found + [_task(RARE, folder, name, sizes, rare=True) for folder in rare for name in ALL]


def option_tasks(even: Sequence[Path], rare: Sequence[Path], sizes: Sizes) -> list[Task]:
    """SSOL on balanced sets and CS-SSOL on rare anomalies, with one option changed at a time and tuned anew."""
    levels = sizes.levels if sizes.is_quick else sizes.levels[2::2]
    fewer = replace(sizes, grid_step=max(sizes.grid_step, 2), levels=levels)
    pairs = [("ssol", folder, False) for folder in even] + [("cs-ssol", folder, True) for folder in rare]
    return [
        _task(OPTIONS, folder, learner, fewer, variant, rare=is_rare)
        for learner, folder, is_rare in pairs
        for variant in VARIANTS[learner]
    ]


def selection_tasks(folder: Path, even: Mapping[str, Fits], options: Mapping[str, Fits]) -> list[Task]:
    entries: list[tuple[str, Setting]] = [
        (name, {**even[f"{name} on {folder.name}"].fits[-1].setting_at(SELECTION_LEVEL)}) for name in (*PAPERS, "ftrl")
    ]
    if (on_theta := options.get(f"ssol on {folder.name}, threshold on theta")) is not None:
        entries.append(("ssol", {**on_theta.fits[-1].setting_at(SELECTION_LEVEL), "threshold_on": "theta"}))
    return [Task(SELECTION, folder.name, 10.0, select, {"folder": str(folder), "entries": entries})]


def select(folder: str, entries: list[tuple[str, Setting]]) -> list[Kept]:
    """Learn the first permutation of the synthetic set, where it is known which features decide; count the weights."""
    train = Split.open(folder).trained(0)
    deciding = np.sort(KEYS[:EFFECTIVE])
    found = []
    for learner, setting in entries:
        survey = learn({**LEARNERS[learner].options, **setting}, train).model.survey()
        is_deciding, is_kept = np.isin(survey.keys, deciding), survey.weights != 0.0
        found.append(
            Kept(
                learner=learner + (", threshold on theta" if "threshold_on" in setting else ""),
                sparsity=1.0 - float(is_kept.mean()),
                deciding=int((is_kept & is_deciding).sum()),
                noise=int((is_kept & ~is_deciding).sum()),
                evidence_deciding=float(survey.evidence[is_deciding].mean()),
                evidence_noise=float(survey.evidence[~is_deciding].mean()),
            )
        )
    return found


def _task(  # noqa: PLR0913 - what a task is about
    study: str, folder: Path, learner: str, sizes: Sizes, variant: str = "", *, rare: bool = False
) -> Task:
    options = VARIANTS[learner][variant] if variant else {}
    arguments = {
        "folder": str(folder),
        "learner": learner,
        "options": {name: value for name, value in options.items() if name != "normalize"},
        "rare": rare,
        "l2": options.get("normalize") != "none",
        "repeats": sizes.repeats,
        "levels": list(sizes.levels),
        "grid_nonzeros": sizes.grid_nonzeros,
        "grid_step": sizes.grid_step,
    }
    points = (11.0 / sizes.grid_step) ** len(LEARNERS[learner].tuned)
    passes = points + len(sizes.levels) * (sizes.repeats + 2.0) * LEARNERS[learner].is_sparse
    seconds = 1e-9 * NANOSECONDS * Split.open(folder, rare=rare).nonzeros * passes
    name = ", ".join(filter(None, [f"{learner} on {folder.name}", variant]))
    return Task(study, name, seconds, fit, arguments)
