import numpy as np
import pytest

from app.learning.parts.names import BIAS_KEY
from experiments.examples import joined
from experiments.paper import drift
from experiments.paper.drift import Drifting
from experiments.sets import SOURCES
from kernels.arrays import Floats


def verdicts(right: Floats, seed: int = 1) -> tuple[Floats, Floats]:
    """Labels, and scores of which so many are right."""
    generator = np.random.default_rng(seed)
    labels = generator.choice([-1.0, 1.0], right.size)
    return labels, np.where(generator.random(right.size) < right, labels, -labels)


def test_windows_add_up_to_the_stream() -> None:
    labels, scores = verdicts(np.full(1_050, 0.8))
    counted = drift.cells(labels, scores, 100)
    assert len(counted) == 11
    assert counted.sum(axis=0).tolist() == drift.cells(labels, scores, 2_000)[0].tolist()


def test_balanced_accuracy_is_the_mean_of_two_recalls() -> None:
    labels = np.array([1.0, 1.0, 1.0, 1.0, -1.0, -1.0])
    scores = np.array([1.0, 1.0, 1.0, -1.0, -1.0, 1.0])
    assert drift.balanced(drift.cells(labels, scores, 6)) == pytest.approx((0.75 + 0.5) / 2)
    assert drift.balanced(drift.cells(np.array([1.0, -1.0]), np.zeros(2), 2)) == 0.5  # a score of 0 says normal


def test_a_window_without_one_of_the_classes_has_no_balanced_accuracy() -> None:
    counted = drift.cells(np.array([1.0, 1.0, 1.0, -1.0]), np.ones(4), 2)
    assert [drift.balanced(one[None, :]) for one in counted] == [None, 0.5]
    assert drift.margins(counted)[0] is None


def test_the_interval_of_resampled_windows_has_the_truth_in_it() -> None:
    low, high = drift.interval(drift.resampled(drift.cells(*verdicts(np.full(20_000, 0.9)), 500)))
    assert low < 0.9 < high
    assert high - low < 0.02


def test_a_learner_that_is_never_good_again_does_not_recover() -> None:
    right = np.repeat([0.95, 0.6], 5_000)
    assert drift.recovery(*verdicts(right), change=5_000) is None


def test_recovery_takes_as_long_as_the_learner_is_bad() -> None:
    right = np.concatenate([np.full(5_000, 0.95), np.full(2_000, 0.3), np.full(3_000, 0.95)])
    found = drift.recovery(*verdicts(right), change=5_000)
    assert found is not None
    assert 2_800 <= found <= 3_050


def needs(name: str) -> None:
    if SOURCES[name].absent():
        pytest.skip(f"{name} is absent")


def test_labels_flip_halfway() -> None:
    needs("phishstorm")
    whole = joined(SOURCES["phishstorm"].train(400))
    stream = drift.flipped(whole, seed=3)
    order = np.random.default_rng([2_016, 3]).permutation(400)
    truth = whole.labels[order]
    assert (stream.labels[:200] == truth[:200]).all()
    assert (stream.labels[200:] == -truth[200:]).all()
    assert (drift.flipped(whole, 3, past=50).labels == stream.labels[150:]).all()


def test_scores_come_before_learning() -> None:
    needs("elec2")
    stream = joined(SOURCES["elec2"].train(100), BIAS_KEY)
    assert drift.scores_of(stream, "cs-ssol")[0] == 0.0


@pytest.fixture(scope="module")
def flip() -> Drifting:
    needs("phishstorm")
    return drift.run_flip(limit=8_000, seed=0, window=500, pasts=[1_500], forgetting=[0.0, 1e-3])


def test_forgetting_helps_after_the_flip_and_costs_before_it(flip: Drifting) -> None:
    for without, forgetful in zip(flip.played[::2], flip.played[1::2], strict=True):
        assert (forgetful.before or 1.0) < (without.before or 0.0)
        assert (forgetful.after or 0.0) > (without.after or 1.0)


def test_without_forgetting_there_is_no_gain(flip: Drifting) -> None:
    assert {each.past for each in flip.recoveries} == {1_500, 4_000}
    assert [each.gain_interval for each in flip.played if not each.forgetting] == [(0.0, 0.0)] * 3
