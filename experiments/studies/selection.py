"""Which features a sparse model keeps: on the synthetic set it is known which of them decide."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from experiments.fitting import Fit, Fits
from experiments.learners import LEARNERS, PAPERS
from experiments.playing import learn
from experiments.sets.synthetic import EFFECTIVE, KEYS
from experiments.splits import Split
from experiments.task import Task

STUDY: Final = "selection"
LEVEL: Final = 0.9  # as many weights are left as there are features that decide


class Kept(msgspec.Struct, frozen=True):
    """A learner at about 90% sparsity: how many features of each kind have a weight, and what it has seen of them."""

    learner: str
    sparsity: float
    deciding: int
    noise: int
    evidence_deciding: float  # 1 / A^-1 - 1 for SSOL; 0 where a learner keeps no such thing
    evidence_noise: float


class Selection(msgspec.Struct, frozen=True):
    """All learners."""

    kept: list[Kept]


def tasks(folder: Path, even: Mapping[str, Fits], options: Mapping[str, Fits]) -> list[Task]:
    """One task, with the settings and lambdas that were found."""
    entries = [_entry(even[f"{name} on {folder.name}"].fits[-1], name, {}) for name in (*PAPERS, "ftrl")]
    on_theta = options.get(f"ssol on {folder.name}, threshold on theta")
    if on_theta is not None:
        entries.append(_entry(on_theta.fits[-1], "ssol", {"threshold_on": "theta"}))
    return [Task(STUDY, folder.name, 10.0, look, {"folder": str(folder), "entries": entries})]


def look(folder: str, entries: list[dict[str, Any]]) -> Selection:
    """Learn the first permutation, and look at the weights."""
    train = Split.open(folder).learnt(0)
    deciding = np.sort(KEYS[:EFFECTIVE])
    found = []
    for entry in entries:
        model = learn({**LEARNERS[entry["learner"]].options, **entry["setting"]}, train).model
        survey = model.survey()
        is_deciding, is_kept = np.isin(survey.keys, deciding), survey.weights != 0.0
        found.append(
            Kept(
                learner=entry["learner"] + (", threshold on theta" if "threshold_on" in entry["setting"] else ""),
                sparsity=1.0 - float(is_kept.mean()),
                deciding=int((is_kept & is_deciding).sum()),
                noise=int((is_kept & ~is_deciding).sum()),
                evidence_deciding=float(survey.evidence[is_deciding].mean()),
                evidence_noise=float(survey.evidence[~is_deciding].mean()),
            )
        )
    return Selection(found)


def _entry(fit: Fit, learner: str, options: dict[str, Any]) -> dict[str, Any]:
    point = min(fit.curve, key=lambda each: abs(each.runs[0].sparsity - LEVEL))
    return {"learner": learner, "setting": {**fit.chosen.setting, **options, "lambda": point.strength}}
