"""The weighted histograms against their naive twin, and how targets are met."""

import numpy as np
import pytest

from kernels.arrays import Floats
from kernels.evaluation import curve as kernel
from tests.reference.curve import Curve

TARGETS = [("false_positive_rate", 0.05), ("sensitivity", 0.8), ("precision", 0.6), ("reviews_per_day", 3000.0)]


def stream(seed: int, labels: int, spread: float = 0.5) -> tuple[Floats, ...]:
    """Return labels, scores, weights (a few volunteered, the first 50 all so), verdicts and times."""
    rng = np.random.default_rng(seed)
    kinds = np.where(rng.random(labels) < 0.3, 1.0, -1.0)
    scores = spread * (kinds + rng.normal(-0.2, 0.8, labels))
    weights = np.where(rng.random(labels) < 0.1, 0.0, 1.0 / rng.choice([0.05, 0.4, 1.0], labels))
    weights[:50] = 0.0
    verdicts = np.where(scores > 0.3 * spread, 1.0, -1.0)
    return (
        kinds,
        scores,
        weights,
        verdicts,
        1e12 + np.cumsum(rng.exponential(60_000.0, labels)) - 5e5 * rng.random(labels),
    )


def followed(target: str, value: float, parts: tuple[Floats, ...]) -> tuple[Floats, Floats]:
    labels, scores, weights, verdicts, times = parts
    data, thresholds = kernel.new_curve(), np.zeros(labels.size)
    kernel.observe_all(
        data, labels, scores, weights, scores, verdicts, times, kernel.TARGETS.index(target), value, thresholds
    )
    return data, thresholds


@pytest.mark.parametrize(("target", "value"), TARGETS)
@pytest.mark.parametrize("spread", [0.5, 40.0, 0.01])
def test_thresholds_are_those_of_the_naive_twin(target: str, value: float, spread: float) -> None:
    parts = stream(1, 400, spread)
    twin, expected = Curve(target, value), []
    for label, score, weight, verdict, at in zip(*(part.tolist() for part in parts), strict=True):
        expected.append(twin.threshold or 0.0)
        twin.observe(label, score, weight, verdict, at)
    data, thresholds = followed(target, value, parts)
    assert thresholds == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert data[kernel.SCALE] == twin.scale
    densities = np.empty((4, kernel.BINS))
    kernel.fill_densities(data, densities)
    assert densities[:2] == pytest.approx(twin.items(), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(("target", "value"), TARGETS)
def test_one_by_one_is_the_same_as_a_batch(target: str, value: float) -> None:
    parts = stream(2, 800)
    data, thresholds = followed(target, value, parts)
    singly = kernel.new_curve()
    for i, (label, score, weight, verdict, at) in enumerate(zip(*parts, strict=True)):
        assert thresholds[i] == (singly[kernel.THRESHOLD] if singly[kernel.IS_SET] else 0.0)
        kernel.observe(singly, label, score, weight, verdict, at, kernel.TARGETS.index(target), value)
    assert (singly == data).all()


@pytest.mark.parametrize("asked", [0.02, 0.1])
def test_the_realised_false_positive_rate_is_the_target_also_after_a_change(asked: float) -> None:
    rng = np.random.default_rng(3)
    scores, data, flagged = rng.normal(0.0, 0.4, 30_000), kernel.new_curve(), []
    scores[15_000:] += 0.6
    for score in scores.tolist():
        verdict = 1.0 if data[kernel.IS_SET] and score > data[kernel.THRESHOLD] else -1.0
        flagged.append(verdict > 0.0)
        kernel.observe(data, -1.0, score, 1.0, verdict, 0.0, kernel.FALSE_POSITIVE_RATE, asked)
    for part in (flagged[1000:15_000], flagged[15_000:]):
        assert abs(np.mean(part) / asked - 1.0) < 0.1


def test_without_a_target_labels_of_items_that_were_not_chosen_do_not_count() -> None:
    data = kernel.new_curve()
    kernel.observe(data, 1.0, 0.5, 0.0, 1.0, 0.0, kernel.NO_TARGET, 0.0)
    assert (data == kernel.new_curve()).all()


def test_the_first_chosen_item_ends_the_count_of_all_labels() -> None:
    data = kernel.new_curve()
    for _ in range(100):
        kernel.observe(data, -1.0, 0.5, 0.0, -1.0, 0.0, kernel.FALSE_POSITIVE_RATE, 0.1)
    threshold = data[kernel.THRESHOLD]
    kernel.observe(data, -1.0, -0.5, 20.0, -1.0, 0.0, kernel.FALSE_POSITIVE_RATE, 0.1)
    assert data[kernel.SEEN] == 1.0
    assert data[kernel.THRESHOLD] == threshold


def test_nothing_overflows_and_scores_that_are_not_finite_do_no_harm() -> None:
    rng = np.random.default_rng(4)
    count = 200_000
    scores = rng.normal(0.0, 1.0, count)
    scores[::1000], scores[1::1000], scores[2::1000] = np.inf, -np.inf, np.nan
    labels = np.where(rng.random(count) < 0.5, 1.0, -1.0)
    data, thresholds = followed(
        "sensitivity", 0.9, (labels, scores, np.full(count, 1e6), np.ones(count), np.arange(count, dtype=np.float64))
    )
    assert np.isfinite(data).all()
    assert np.isfinite(thresholds).all()
