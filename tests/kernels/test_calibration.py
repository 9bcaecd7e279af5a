"""The calibration kernel against its naive twin, and what it must achieve."""

import numpy as np
import pytest

from kernels.arrays import Floats
from kernels.evaluation import calibration as kernel
from tests.reference.calibration import Calibration


def stream(seed: int, examples: int, share: float, distance: float, spread: float = 0.5) -> tuple[Floats, Floats]:
    """Return labels, and scores that are normally distributed in each class."""
    rng = np.random.default_rng(seed)
    labels = np.where(rng.random(examples) < share, 1.0, -1.0)
    return labels, labels * distance + rng.normal(-0.2, spread, examples)


def observed(
    labels: Floats,
    scores: Floats,
    objective: int = kernel.BALANCED,
    costs: tuple[float, float] = (1.0, 1.0),
    chosen_with: Floats | None = None,
) -> tuple[Floats, Floats]:
    data, thresholds = kernel.new_calibration(), np.empty(labels.size)
    chosen = np.zeros(labels.size) if chosen_with is None else chosen_with
    kernel.observe_all(data, labels, scores, objective, *costs, chosen, thresholds)
    return data, thresholds


@pytest.mark.parametrize("objective", kernel.OBJECTIVES)
@pytest.mark.parametrize(("share", "spread"), [(0.5, 0.5), (0.05, 0.5), (0.3, 30.0), (0.3, 0.002)])
def test_thresholds_and_probabilities_are_those_of_the_naive_twin(objective: str, share: float, spread: float) -> None:
    labels, scores = stream(1, 400, share, spread, spread)
    twin = Calibration(objective, 3.0, 0.5)
    expected = []
    for label, score in zip(labels.tolist(), scores.tolist(), strict=True):
        expected.append(twin.threshold)
        twin.observe(label, score)
    data, thresholds = observed(labels, scores, kernel.OBJECTIVES.index(objective), (3.0, 0.5))
    assert thresholds.tolist() == expected
    assert data[kernel.SCALE] == twin.scale
    table = np.empty(kernel.BINS)
    kernel.fill_probabilities(data, table)
    assert table == pytest.approx(twin.probabilities(), rel=1e-9)


def test_one_by_one_is_the_same_as_a_batch() -> None:
    labels, scores = stream(2, 3000, 0.03, 0.5)
    data, thresholds = observed(labels, scores)
    singly = kernel.new_calibration()
    for i in range(labels.size):
        assert singly[kernel.THRESHOLD] == thresholds[i]
        kernel.observe(singly, labels[i], scores[i], kernel.BALANCED, 1.0, 1.0, 0.0)
    assert (singly == data).all()


@pytest.mark.parametrize("first", [0.0, 0.004, 1.0])
def test_labels_of_chosen_predictions_weigh_as_in_the_naive_twin(first: float) -> None:
    labels, scores = stream(8, 500, 0.2, 0.5)
    chosen_with = np.random.default_rng(8).choice([0.0, 1e-7, 0.002, 0.01, 0.5, 1.0], labels.size)
    chosen_with[0] = first
    twin = Calibration()
    for label, score, probability in zip(labels.tolist(), scores.tolist(), chosen_with.tolist(), strict=True):
        twin.observe(label, score, probability)
    data, _ = observed(labels, scores, chosen_with=chosen_with)
    assert data[kernel.THRESHOLD] == twin.threshold
    table = np.empty(kernel.BINS)
    kernel.fill_probabilities(data, table)
    assert table == pytest.approx(twin.probabilities(), rel=1e-6)


def test_labels_that_were_all_chosen_with_the_same_probability_count_as_if_they_were_not_chosen() -> None:
    labels, scores = stream(9, 5000, 0.1, 0.5)
    plain, _ = observed(labels, scores)
    chosen, _ = observed(labels, scores, chosen_with=np.full(labels.size, 0.25))
    assert chosen[kernel.THRESHOLD] == plain[kernel.THRESHOLD]
    assert chosen[kernel.HEAD :] == pytest.approx(plain[kernel.HEAD :], rel=1e-6)
    assert chosen[kernel.LABELS] == pytest.approx(4.0 * plain[kernel.LABELS], rel=1e-6)


def test_weights_find_the_threshold_of_all_inputs_from_labels_around_it() -> None:
    labels, scores = stream(10, 200_000, 0.05, 0.5)
    _, all_thresholds = observed(labels, scores)
    probability = np.where(np.abs(scores + 0.2) < 0.3, 0.2, np.where(scores > 0.1, 0.2, 0.01))
    some = np.random.default_rng(11).random(labels.size) < probability
    _, weighted = observed(labels[some], scores[some], chosen_with=probability[some])
    _, naive = observed(labels[some], scores[some])
    best = all_thresholds[-1]
    assert abs(np.median(weighted[-2000:]) - best) < 0.5 * abs(np.median(naive[-2000:]) - best)


def test_weights_never_overflow() -> None:
    labels, scores = stream(3, 400_000, 0.5, 0.5)
    data, thresholds = observed(labels, scores)
    assert np.isfinite(data).all()
    assert data[kernel.WEIGHT : kernel.MASS].max() <= kernel.LARGEST_WEIGHT
    assert abs(thresholds[-1] + 0.2) < 0.15


@pytest.mark.parametrize("share", [0.5, 0.1, 0.01])
def test_the_balanced_threshold_is_about_as_good_as_the_best_in_hindsight(share: float) -> None:
    labels, scores = stream(4, 40_000, share, 0.5)
    _, thresholds = observed(labels, scores)
    assert balanced(labels, scores > thresholds) > balanced(labels, scores > -0.2) - 0.01


def test_the_objective_error_gives_fewer_errors_than_any_verdict_for_all() -> None:
    labels, scores = stream(5, 40_000, 0.05, 0.5)
    _, thresholds = observed(labels, scores, kernel.ERROR)
    _, balanced_thresholds = observed(labels, scores)
    error = ((scores > thresholds) != (labels > 0)).mean()
    assert error < 0.05
    assert error < ((scores > balanced_thresholds) != (labels > 0)).mean()


def test_a_high_cost_of_missed_anomalies_lowers_the_threshold() -> None:
    labels, scores = stream(6, 5000, 0.2, 0.4)
    careful, careless = (observed(labels, scores, kernel.COST, costs)[0] for costs in ((20.0, 1.0), (1.0, 20.0)))
    assert careful[kernel.THRESHOLD] < careless[kernel.THRESHOLD] - 0.3


@pytest.mark.parametrize("factor", [1e-5, 1.0, 1e5])
def test_scores_of_any_size_are_told_apart(factor: float) -> None:
    labels, scores = stream(7, 20_000, 0.1, 0.5)
    _, thresholds = observed(labels, factor * scores)
    half = labels.size // 2
    assert balanced(labels[half:], (factor * scores > thresholds)[half:]) > 0.81


def test_the_threshold_follows_a_change() -> None:
    labels, scores = stream(8, 20_000, 0.1, 0.5)
    scores[10_000:] += 1.0
    _, thresholds = observed(labels, scores)
    assert abs(thresholds[9_999] + 0.2) < 0.2
    assert abs(thresholds[-1] - 0.8) < 0.2


@pytest.mark.parametrize("share", [0.5, 0.02])
def test_probabilities_are_honest(share: float) -> None:
    """Of the inputs with a probability of about p, a share of about p are anomalies."""
    labels, scores = stream(9, 60_000, share, 0.4)
    data, _ = observed(labels, scores)
    table = np.empty(kernel.BINS)
    kernel.fill_probabilities(data, table)
    assert (np.diff(table) >= 0.0).all()
    fresh_labels, fresh = stream(10, 200_000, share, 0.4)
    found = table[np.clip(((fresh / data[kernel.SCALE] + kernel.EDGE) * kernel.PER_UNIT).astype(int), 0, 159)]
    groups = np.digitize(found, np.quantile(found, np.linspace(0.1, 0.9, 9)))
    gap = [abs(found[groups == g].mean() - (fresh_labels[groups == g] > 0).mean()) for g in np.unique(groups)]
    assert np.mean(gap) < 0.04


@pytest.mark.parametrize("label", [1.0, -1.0])
def test_with_one_class_the_threshold_stays_0(label: float) -> None:
    data, _ = observed(np.full(500, label), np.full(500, 0.3))
    assert data[kernel.THRESHOLD] == 0.0


def test_scores_that_are_not_finite_do_no_harm() -> None:
    labels = np.array([1.0, -1.0] * 50)
    scores = np.array([np.inf, -np.inf, np.nan, np.nan] * 25)
    data, _ = observed(labels, scores)
    assert np.isfinite(data).all()


def balanced(labels: Floats, verdicts: np.ndarray) -> float:
    return float(verdicts[labels > 0].mean() + (~verdicts)[labels < 0].mean()) / 2.0
