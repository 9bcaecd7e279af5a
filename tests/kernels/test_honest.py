"""Weighted sums and their intervals."""

import numpy as np
import pytest

from kernels.arrays import Floats
from kernels.evaluation import honest as kernel
from tests.reference.honest import sums_of


def test_the_sums_are_those_of_the_naive_twin() -> None:
    rng = np.random.default_rng(1)
    labels = [
        (float(rng.choice([1, -1])), float(rng.choice([1, -1])), float(rng.choice([0.01, 0.3, 1.0])))
        for _ in range(500)
    ]
    sums = kernel.new_sums()
    for label, verdict, probability in labels:
        kernel.add(sums, label, verdict, 1.0 / probability)
    assert sums[kernel.EVER] == pytest.approx(sums_of(labels, 1.0), rel=1e-9)
    assert sums[kernel.LATELY] == pytest.approx(sums_of(labels, kernel.FADING), rel=1e-9)


def cell(labels: int, weight: float) -> Floats:
    return np.array([1.0, weight, weight * (weight - 1.0), weight * weight]) * labels


def interval(part: Floats, rest: Floats, weight: float = 1.0) -> tuple[float, float]:
    found = np.empty(2)
    kernel.bounds(part, rest, cell(1, weight), cell(1, weight), found)
    return found.item(0), found.item(1)


def test_an_interval_is_a_point_where_every_item_has_a_label() -> None:
    assert interval(cell(30, 1.0), cell(10, 1.0)) == (0.75, 0.75)


@pytest.mark.parametrize(
    ("part", "rest", "expected"),
    # The interval of Jeffreys for 9 of 10, 1 of 10, 50 of 100: quantiles of beta(part + 0.5, rest + 0.5)
    [(9, 1, (0.61869, 0.98899)), (1, 9, (0.01101, 0.38131)), (50, 50, (0.40317, 0.59683))],
)
def test_with_small_equal_probabilities_it_is_the_interval_of_jeffreys(
    part: int, rest: int, expected: tuple[float, float]
) -> None:
    assert interval(cell(part, 1e6), cell(rest, 1e6), 1e6) == pytest.approx(expected, abs=2e-5)


def test_a_rate_of_0_or_1_still_has_an_interval() -> None:
    low, high = interval(cell(20, 20.0), cell(0, 1.0), 20.0)
    assert 0.7 < low < 0.95
    assert high == 1.0
    low, high = interval(cell(0, 1.0), cell(20, 20.0), 20.0)
    assert low == 0.0
    assert 0.05 < high < 0.3


def test_few_missed_items_with_large_weights_widen_the_interval() -> None:
    low, high = interval(cell(90, 1.0), cell(1, 50.0), 20.0)
    assert low < 90.0 / 140.0 < high
    assert high - low > 0.4


@pytest.mark.parametrize("probability", [0.02, 0.2, 0.7])
def test_the_interval_covers_what_would_be_seen_with_all_labels(probability: float) -> None:
    rng = np.random.default_rng(7)
    covered = []
    for _ in range(2000):
        right, wrong = 900, 100
        seen = rng.binomial([right, wrong], probability)
        if seen.sum():
            low, high = interval(cell(seen[0], 1 / probability), cell(seen[1], 1 / probability), 1 / probability)
            covered.append(low <= right / (right + wrong) <= high)
    assert 0.92 <= np.mean(covered) <= 0.98
