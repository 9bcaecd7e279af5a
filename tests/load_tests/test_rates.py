import numpy as np

from load_tests.quality.rates import confusion, curve, last_half, mean_curve

LABELS = np.array([1.0, -1.0, 1.0, -1.0])
SCORES = np.array([0.5, 0.5, 0.0, -1.0])  # right, wrong, wrong (a tie is normal), right


def test_a_score_above_zero_says_anomaly() -> None:
    found = confusion(LABELS, SCORES)
    assert (found.true_positives, found.false_negatives) == (1, 1)
    assert (found.true_negatives, found.false_positives) == (1, 1)
    assert found.error == 0.5


def test_a_curve_counts_everything_so_far() -> None:
    assert curve(LABELS, SCORES, (1, 2, 3, 4)) == [None, 0.5, 0.25, 0.5]


def test_the_last_half_leaves_out_the_first() -> None:
    assert last_half(LABELS, SCORES) == 0.5
    assert last_half(np.ones(4), SCORES) is None


def test_a_mean_is_over_the_curves_that_are_defined() -> None:
    assert mean_curve([[None, 0.5, None], [0.25, 1.0, None]]) == [0.25, 0.75, None]
