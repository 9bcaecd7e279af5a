"""Settings are chosen by cross-validation on the paper's grid and beyond it, and the same on every run."""

from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest

from experiments.fitting import Fits, fit
from experiments.grid import Point, Search, folds_of
from experiments.learners import ALL, LEARNERS, Learner
from experiments.splits import Split
from tests.experiments.examples import stored_set
from tests.experiments.numbers import without_seconds

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
    chosen = search(folder, LEARNERS["ssol"]).on_grid()
    assert len(chosen.tried) == 121
    assert {len(tried.losses) for tried in chosen.tried} == {1, 5}
    assert sum(len(tried.losses) == 5 for tried in chosen.tried) == 25
    assert chosen.loss == min(sum(tried.losses) / 5 for tried in chosen.tried if len(tried.losses) == 5)


def test_an_optimum_beyond_the_edge_is_found() -> None:
    known: dict[tuple[Point, int], float] = {
        ((a, b), fold): 0.1 + abs(a + 6) + abs(b - 9) for a, b, fold in product(*AXES)
    }
    found = Search(LEARNERS["ssol"], [([], [])] * 5, balanced=False, known=known)
    paper = found.on_grid()
    wider = found.beyond(paper.setting)
    assert (paper.setting, paper.at_edge) == ({"eta": 0.5, "r": 32.0}, ["eta", "r"])
    assert (wider.setting, wider.at_edge) == ({"eta": 2.0**-6, "r": 2.0**9}, [])


def test_where_no_neighbour_is_better_the_choice_stays(folder: Path) -> None:
    found = search(folder, LEARNERS["fsol"])
    first = found.beyond({"eta": 2.0})
    assert found.beyond(first.setting).setting == first.setting


@pytest.mark.parametrize("learner", ALL)
def test_every_learner_gets_a_curve(folder: Path, learner: str) -> None:
    found = fit(str(folder), learner, {}, **SMALL)
    for each in found.fits:
        assert each.curve[0].strength == 0.0
        assert len(each.curve) > 1 or not LEARNERS[learner].is_sparse
        assert all(len(point.runs) == 2 for point in each.curve)


def test_the_same_numbers_come_again_and_survive_their_file(folder: Path) -> None:
    one, other = (fit(str(folder), "ssol", {}, **SMALL) for _ in range(2))
    text = msgspec.json.encode(one)
    assert without_seconds(one) == without_seconds(other)
    assert msgspec.json.decode(text, type=Fits) == one


def test_an_option_replaces_the_learners_own() -> None:
    estimated = LEARNERS["cs-ssol"].changed({"costs": "auto"})
    assert estimated.options == {"algorithm": "cs-ssol", "lambda_schedule": "constant", "costs": "auto"}
    assert LEARNERS["ssol"].changed({"denominator": "coordinate"}).options["denominator"] == "coordinate"
