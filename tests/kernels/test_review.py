"""The band of uncertain scores against a slow twin, and the rules of the choice."""

import math

import numpy as np
import pytest

from kernels.arrays import Floats
from kernels.evaluation import calibration, review
from kernels.evaluation.calibration import BALANCED, BINS, COST, EDGE, ERROR, HEAD, PER_UNIT
from tests.kernels.test_calibration import observed, stream


def margin_of(histograms: Floats, threshold: float, band: float) -> float:
    """Sort all bins by their distance from the threshold, and add up their shares of all scores."""
    scale, seen = histograms[calibration.SCALE], histograms[calibration.SEEN : calibration.SEEN + 2]
    anomalies = calibration.share_of_anomalies(histograms)
    classes = histograms[HEAD:].reshape(2, BINS)
    weights = np.array([1.0 - anomalies, anomalies]) if seen.min() > 0.0 else (seen > 0.0).astype(float)
    density = weights @ (classes / np.maximum(classes.sum(1, keepdims=True), 1e-300))
    middles = ((np.arange(BINS) + 0.5) / PER_UNIT - EDGE) * scale
    distance = np.abs(middles - threshold)
    order = np.argsort(distance, kind="stable")
    reached = int(np.searchsorted(np.cumsum(density[order]), max(band, 1.0 / (2.0 + seen.min())) - 1e-12))
    return math.inf if reached == BINS else float(distance[order[reached]] + 0.5 / PER_UNIT * scale)


@pytest.mark.parametrize("labels", [1, 10, 300, 5000])
@pytest.mark.parametrize("band", [0.01, 0.05, 0.3])
@pytest.mark.parametrize("threshold", [-0.3001, 0.1, 0.7772, 9.0])
def test_the_band_holds_the_share_of_all_scores_as_in_the_twin(labels: int, band: float, threshold: float) -> None:
    histograms, _ = observed(*stream(1, labels, 0.1, 0.5))
    assert review.uncertain_margin(histograms, threshold, band) == pytest.approx(margin_of(histograms, threshold, band))


def test_the_band_holds_about_its_share_of_later_scores() -> None:
    histograms, _ = observed(*stream(2, 20_000, 0.05, 0.5))
    _, scores = stream(3, 20_000, 0.05, 0.5)
    threshold = float(histograms[calibration.THRESHOLD])
    inside = (np.abs(scores - threshold) <= review.uncertain_margin(histograms, threshold, 0.1)).mean()
    assert 0.08 < inside < 0.14


def test_without_labels_there_is_no_band_and_with_few_of_the_rarer_class_a_wide_one() -> None:
    assert review.uncertain_margin(calibration.new_calibration(), 0.0, 0.05) == review.NO_BAND
    margins = []
    for anomalies in (0, 3, 100):
        labels = np.repeat([-1.0, 1.0], [1000, anomalies])
        scores = np.linspace(-1.5, 0.0, labels.size)
        margins.append(review.uncertain_margin(observed(labels, scores)[0], 0.0, 0.05))
    assert margins[0] > margins[1] > margins[2] > 0.0


@pytest.mark.parametrize(
    ("reason", "is_flagged", "share"),
    [
        (review.RANDOM, False, 0.1),
        (review.RANDOM, True, 0.3),
        (review.UNCERTAIN, True, 0.6),
        (review.UNKNOWN, False, 0.6),
    ],
)
def test_the_largest_share_among_the_reasons_that_apply_counts(reason: int, is_flagged: bool, share: float) -> None:
    assert review.share_of(reason, is_flagged, 0.6, 0.3, 0.1) == share


def test_the_named_reason_is_the_most_valuable_one_above_the_draw() -> None:
    def name(draw: float) -> int:
        return review.named_reason(review.UNCERTAIN, True, draw, 0.2, 0.5)

    assert [name(draw) for draw in (0.1, 0.3, 0.7)] == [review.UNCERTAIN, review.FLAGGED, review.RANDOM]


def test_an_error_costs_what_the_objective_says() -> None:
    costs = (20.0, 2.0, 0.1)
    assert review.expected_cost(0.3, -1, 0.2, ERROR, costs) == pytest.approx(0.3)
    assert review.expected_cost(0.3, -1, 0.2, COST, costs) == pytest.approx(6.0)
    assert review.expected_cost(0.9, 1, 0.2, COST, costs) == pytest.approx(0.2)
    assert review.expected_cost(0.1, -1, 0.0, BALANCED, costs) == pytest.approx(0.5)
    assert review.expected_cost(0.1, 1, 0.0, BALANCED, costs) == pytest.approx(0.5)
    assert review.expected_cost(None, 1, 0.1, None, costs) > review.expected_cost(None, 1, 3.0, None, costs) > 0.0
    assert review.expected_cost(None, 1, math.inf, BALANCED, costs) == 0.5
