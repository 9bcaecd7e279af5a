"""Test error against sparsity on balanced sets, balanced accuracy against sparsity where anomalies are rare.

And what each option that the paper leaves open does to both.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from experiments.fitting import fit
from experiments.learners import ALL, EVEN_ONES, LEARNERS, Setting
from experiments.sizes import Sizes
from experiments.splits import Split
from experiments.task import Task

EVEN: Final = "sparsity"
RARE: Final = "anomalies"
OPTIONS: Final = "options"
NANOSECONDS: Final = 25.0  # for one non-zero, about
EXAMPLE_NANOSECONDS: Final = 300.0
RUNS: Final = 2.0  # for each level: what it takes to find a lambda

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


def even_tasks(folders: Sequence[Path], sizes: Sizes) -> list[Task]:
    """All learners without costs on each set."""
    return [_task(EVEN, folder, name, sizes) for folder in folders for name in EVEN_ONES]


def rare_tasks(folders: Sequence[Path], sizes: Sizes) -> list[Task]:
    """All learners on each set, with anomalies at 1:99."""
    return [_task(RARE, folder, name, sizes, rare=True) for folder in folders for name in ALL]


def option_tasks(even: Sequence[Path], rare: Sequence[Path], sizes: Sizes) -> list[Task]:
    """SSOL on balanced sets and CS-SSOL on rare anomalies, one option changed at a time and tuned anew."""
    levels = sizes.levels if sizes.is_quick else sizes.levels[2::2]
    fewer = replace(sizes, grid_step=max(sizes.grid_step, 2), levels=levels)
    who = [("ssol", folder, False) for folder in even] + [("cs-ssol", folder, True) for folder in rare]
    return [
        _task(OPTIONS, folder, learner, fewer, variant, rare=is_rare)
        for learner, folder, is_rare in who
        for variant in VARIANTS[learner]
    ]


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
    name = ", ".join(filter(None, [f"{learner} on {folder.name}", variant]))
    return Task(study, name, _seconds(folder, learner, sizes, rare=rare), fit, arguments)


def _seconds(folder: Path, name: str, sizes: Sizes, *, rare: bool) -> float:
    split, learner = Split.open(folder, rare=rare), LEARNERS[name]
    nonzeros = split.train.keys.size / max(len(split.train), 1)
    example = 1e-9 * (nonzeros * NANOSECONDS + EXAMPLE_NANOSECONDS)
    points = (11.0 / sizes.grid_step) ** len(learner.tuned)
    grid = 2.5 * points * min(sizes.grid_nonzeros / max(nonzeros, 1.0), split.rows(0).size)
    runs = len(sizes.levels) * (sizes.repeats + RUNS) if learner.is_sparse else sizes.repeats
    return example * (grid + 2.0 * runs * (split.rows(0).size + split.test_rows.size))
