"""Settings by cross-validation on the paper's grid and beyond it, lambdas by sparsity; the same on every run."""

import math
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from experiments.paper.curves import fit
from experiments.paper.evaluation import Split
from experiments.paper.protocol import ALL, LEARNERS, Learner
from experiments.paper.search import Point, Search, folds_of, lambdas, tolerance
from tests.experiments.examples import stored_set

LEVELS = (0.2, 0.5, 0.8, 0.9, 0.98)
AXES = (range(-17, 18), range(-17, 18), range(5))
SMALL: dict[str, Any] = {
    "rare": False,
    "l2": True,
    "repeats": 2,
    "levels": [0.5, 0.9],
    "grid_nonzeros": 100_000,
    "grid_step": 5,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stored_set(tmp_path_factory.mktemp("set"))


def search(folder: Path, learner: Learner) -> Search:
    split = Split.open(folder)
    (block,) = split.train.blocks(split.rows(0))
    return Search(learner, folds_of(block), balanced=False)


def test_folds_hold_every_example_out_once(folder: Path) -> None:
    split = Split.open(folder)
    (block,) = split.train.blocks(split.rows(0))
    folds = folds_of(block)
    held_out = [label for _, test in folds for part in test for label in part.labels.tolist()]
    assert held_out == block.labels.tolist()
    assert [sum(map(len, train)) for train, _ in folds] == [384] * 5


def test_the_whole_grid_is_tried_on_the_first_fold_and_the_best_of_it_on_all(folder: Path) -> None:
    found = search(folder, LEARNERS["ssol"])
    chosen = found.on_grid()
    folds = Counter(point for point, _ in found.known)
    assert chosen.tried == len(folds) == 121
    assert Counter(folds.values()) == {1: 96, 5: 25}
    losses = {point: [found.known[point, fold] for fold in range(5)] for point in folds if folds[point] == 5}
    assert chosen.loss == min(sum(each) / 5 for each in losses.values())


def test_an_optimum_beyond_the_edge_is_found() -> None:
    known: dict[tuple[Point, int], float] = {
        ((a, b), fold): 0.1 + abs(a + 6) + abs(b - 9) for a, b, fold in product(*AXES)
    }
    found = Search(LEARNERS["ssol"], [([], [])] * 5, balanced=False, known=known)
    paper = found.on_grid()
    wider = found.beyond(paper.setting)
    assert (paper.setting, paper.at_edge) == ({"eta": 0.5, "r": 32.0}, ["eta", "r"])
    assert (wider.setting, wider.at_edge) == ({"eta": 2.0**-6, "r": 2.0**9}, [])


@pytest.mark.parametrize("learner", ALL)
def test_every_learner_gets_a_curve(folder: Path, learner: str) -> None:
    found = fit(str(folder), learner, {}, **SMALL)
    for each in found.fits:
        assert each.curve[0].strength == 0.0
        assert len(each.curve) > 1 or not LEARNERS[learner].is_sparse
        assert all(len(point.runs) == 2 for point in each.curve)


def test_an_option_replaces_the_learners_own() -> None:
    estimated = LEARNERS["cs-ssol"].changed({"costs": "auto"})
    assert estimated.options == {"algorithm": "cs-ssol", "lambda_schedule": "constant", "costs": "auto"}
    assert LEARNERS["ssol"].changed({"denominator": "coordinate"}).options["denominator"] == "coordinate"


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1.0, 1e4])
def test_every_level_is_met(scale: float) -> None:
    def sparsity_at(strength: float) -> float:
        return 1.0 - math.exp(-strength / scale)

    found = lambdas(sparsity_at, LEVELS)
    assert found == sorted({0.0, *found})
    for level in LEVELS:
        assert min(abs(sparsity_at(each) - level) for each in found) <= tolerance(level)


def test_a_sparsity_that_cannot_be_reached_ends_the_search() -> None:
    looks = []

    def sparsity_at(strength: float) -> float:
        looks.append(strength)
        return 0.5 if strength > 1.0 else 0.0

    assert lambdas(sparsity_at, LEVELS)[0] == 0.0
    assert len(looks) == len(set(looks)) < 60
