"""A contender plays a stream at its natural ratio, with rare anomalies and from a cold start."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from app.learning.state import TenantState
from experiments.examples import Examples
from experiments.quality.contenders import Contender, Options, Played, sluice
from experiments.quality.study import QUICK, cold, play, samples_of, windows
from experiments.quality.verdicts import NATURAL, POINTS, RARE, confusion, curve

LABELS = np.array([1.0, -1.0, 1.0, -1.0])
SCORES = np.array([0.5, 0.5, 0.0, -1.0])  # right, wrong, wrong (a tie is normal), right


@dataclass
class Oracle:
    """Is right on the share of examples that its setting names; keeps the lengths of the streams that it played."""

    lengths: list[int] = field(default_factory=list)

    def play(self, stream: Examples, settings: Sequence[Options]) -> list[Played]:
        self.lengths.append(len(stream))
        lots = np.random.default_rng(0).random(len(stream))
        rights = [np.where(lots < float(options["right"]), 1.0, -1.0) for options in settings]
        return [Played(stream.labels * right, sparsity=0.5) for right in rights]

    def contender(self, limit: int | None = None, tuned_on: int | None = None) -> Contender:
        grid = tuple({"right": share} for share in (0.6, 0.9, 0.5))
        return Contender("oracle", self.play, grid, limit, tuned_on)


def noise(examples: int, positives: float = 0.5) -> Examples:
    """Examples of one feature each."""
    labels = np.where(np.random.default_rng(1).random(examples) < positives, 1.0, -1.0)
    return Examples(np.arange(examples + 1), np.ones(examples, np.uint64), np.ones(examples), labels)


def test_the_best_setting_is_taken() -> None:
    (row,) = play(Oracle().contender(), [noise(1000)], NATURAL, {"all": 1000})
    assert (row.setting, row.mean("sparsity")) == ({"right": 0.9}, 0.5)
    assert row.mean("error") == pytest.approx(0.1, abs=0.03)


def test_a_stream_that_is_a_beginning_of_another_is_not_played_again() -> None:
    oracle = Oracle()
    whole, beginning = play(oracle.contender(), [noise(1000)], NATURAL, {"all": 1000, "beginning": 300})
    assert oracle.lengths == [1000]
    assert (whole.examples, beginning.examples) == (1000, 300)
    assert beginning.mean("sparsity") is None


def test_a_setting_may_be_chosen_on_the_beginning_and_the_stream_limited() -> None:
    oracle = Oracle()
    (row,) = play(oracle.contender(tuned_on=100), [noise(1000)], NATURAL, {"all": 1000})
    assert (oracle.lengths, row.setting) == ([100, 1000], {"right": 0.9})
    (row,) = play(Oracle().contender(limit=200), [noise(1000)], NATURAL, {"all": 1000})
    assert row.examples == 200


def test_every_seed_is_a_run_at_one_setting() -> None:
    (row,) = play(Oracle().contender(), samples_of(noise(4000), (1, 2, 3)), RARE, {"all": 4000})
    assert (len(row.runs), row.setting["right"]) == (3, 0.9)
    assert row.spread("balanced") is not None
    assert row.mean("balanced") == pytest.approx(0.9, abs=0.1)


def test_only_learners_with_a_choice_weigh_rare_anomalies() -> None:
    assert [len(Oracle().contender().settings(rare=rare)) for rare in (False, True)] == [3, 6]
    assert [len(sluice().settings(rare=rare)) for rare in (False, True)] == [1, 1]


def test_cold_starts_are_windows_of_the_stream() -> None:
    found = windows(noise(5000), NATURAL, QUICK.seeds, QUICK.starts[NATURAL])
    assert [len(window) for window in found] == [POINTS[NATURAL][-1]] * QUICK.starts[NATURAL]
    rare = windows(noise(8000), RARE, QUICK.seeds, QUICK.starts[RARE])
    assert all((window.labels > 0).mean() < 0.03 for window in rare)
    assert cold(Oracle().contender(), found, "all", {"right": 1.0}, NATURAL).values == [1.0] * len(POINTS[NATURAL])


def test_ours_has_the_settings_that_it_ships_with_and_starts_anew() -> None:
    stream = noise(300)
    scores = TenantState().learn_batch(stream.starts, stream.keys, stream.values, stream.labels)
    for played in sluice().play(stream, [{}, {}]):
        assert (played.scores == scores).all()


def test_a_score_above_zero_says_anomaly() -> None:
    found = confusion(LABELS, SCORES)
    assert (found.true_positives, found.false_negatives) == (1, 1)
    assert (found.true_negatives, found.false_positives) == (1, 1)
    assert found.error == 0.5


def test_a_curve_counts_everything_so_far() -> None:
    assert curve(LABELS, SCORES, (1, 2, 3, 4)) == [None, 0.5, 0.25, 0.5]
