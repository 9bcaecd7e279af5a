import numpy as np
import pytest

from app.learning.names import BIAS_KEY
from experiments.examples import joined
from experiments.paper.drift.study import Drifting, flipped, run_flip, scores_of
from experiments.paper.drift.windows import balanced, cells, interval, margins, recovery, resampled
from experiments.sets import SOURCES
from kernels.arrays import Floats


def verdicts(right: Floats, seed: int = 1) -> tuple[Floats, Floats]:
    """Labels, and scores of which so many are right."""
    generator = np.random.default_rng(seed)
    labels = generator.choice([-1.0, 1.0], right.size)
    return labels, np.where(generator.random(right.size) < right, labels, -labels)


def test_windows_add_up_to_the_stream() -> None:
    labels, scores = verdicts(np.full(1_050, 0.8))
    counted = cells(labels, scores, 100)
    assert len(counted) == 11
    assert counted.sum(axis=0).tolist() == cells(labels, scores, 2_000)[0].tolist()


def test_balanced_accuracy_is_the_mean_of_two_recalls() -> None:
    labels = np.array([1.0, 1.0, 1.0, 1.0, -1.0, -1.0])
    scores = np.array([1.0, 1.0, 1.0, -1.0, -1.0, 1.0])
    assert balanced(cells(labels, scores, 6)) == pytest.approx((0.75 + 0.5) / 2)


def test_a_score_of_zero_says_normal() -> None:
    assert balanced(cells(np.array([1.0, -1.0]), np.zeros(2), 2)) == 0.5


def test_a_window_without_one_of_the_classes_has_no_balanced_accuracy() -> None:
    counted = cells(np.array([1.0, 1.0, 1.0, -1.0]), np.ones(4), 2)
    assert [balanced(one[None, :]) for one in counted] == [None, 0.5]
    assert margins(counted)[0] is None


def test_the_interval_of_resampled_windows_has_the_truth_in_it() -> None:
    low, high = interval(resampled(cells(*verdicts(np.full(20_000, 0.9)), 500)))
    assert low < 0.9 < high
    assert high - low < 0.02


def test_a_learner_that_is_never_good_again_does_not_recover() -> None:
    right = np.repeat([0.95, 0.6], 5_000)
    assert recovery(*verdicts(right), change=5_000) is None


def test_recovery_takes_as_long_as_the_learner_is_bad() -> None:
    right = np.concatenate([np.full(5_000, 0.95), np.full(2_000, 0.3), np.full(3_000, 0.95)])
    found = recovery(*verdicts(right), change=5_000)
    assert found is not None
    assert 2_800 <= found <= 3_050


def test_a_learner_that_nothing_happens_to_has_recovered_within_a_window() -> None:
    assert recovery(*verdicts(np.full(10_000, 0.95)), change=5_000) == 1_000


def needs(name: str) -> None:
    if SOURCES[name].absent():
        pytest.skip(f"{name} is absent")


def test_labels_flip_halfway() -> None:
    needs("phishstorm")
    whole = joined(SOURCES["phishstorm"].train(400))
    stream = flipped(whole, seed=3)
    order = np.random.default_rng([2_016, 3]).permutation(400)
    truth = whole.labels[order]
    assert (stream.labels[:200] == truth[:200]).all()
    assert (stream.labels[200:] == -truth[200:]).all()


def test_a_shorter_past_leaves_the_rest_as_it_is() -> None:
    needs("phishstorm")
    whole = joined(SOURCES["phishstorm"].train(400))
    assert (flipped(whole, 3, past=50).labels == flipped(whole, 3).labels[150:]).all()


def test_scores_come_before_learning() -> None:
    needs("elec2")
    stream = joined(SOURCES["elec2"].train(100), BIAS_KEY)
    assert scores_of(stream, {"algorithm": "cs-ssol"})[0] == 0.0


@pytest.fixture(scope="module")
def flip() -> Drifting:
    needs("phishstorm")
    return run_flip(limit=8_000, seed=0, window=500, pasts=[1_500], forgetting=[0.0, 1e-3])


def test_forgetting_helps_after_the_flip_and_costs_before_it(flip: Drifting) -> None:
    for without, forgetful in zip(flip.played[::2], flip.played[1::2], strict=True):
        assert without.before is not None
        assert without.after is not None
        assert forgetful.before is not None
        assert forgetful.after is not None
        assert forgetful.before < without.before
        assert forgetful.after > without.after


def test_a_flip_has_all_windows_and_recoveries(flip: Drifting) -> None:
    assert flip.flipped_at == 4_000
    assert [len(each.windows) for each in flip.played] == [16] * 6
    assert {each.past for each in flip.recoveries} == {1_500, 4_000}


def test_without_forgetting_there_is_no_gain(flip: Drifting) -> None:
    assert [each.gain_interval for each in flip.played if not each.forgetting] == [(0.0, 0.0)] * 3
