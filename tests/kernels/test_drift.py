"""The drift detectors agree with their reference, and find jumps of the error rate."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.arrays import Ints
from kernels.evaluation import drift as place
from kernels.evaluation.drift import ANOMALY, CLOCK, MOST, NORMAL, ROW, ROWS, new_detectors, watch
from tests.reference.adwin import Adwin

BIT = st.integers(0, 1)
RATE = st.sampled_from([0.0, 0.02, 0.2, 0.5, 0.9, 1.0])


def errors_at(seed: int, *parts: tuple[float, int]) -> list[int]:
    """Errors that come at a rate, then at another; each part is a rate and a length."""
    rng = np.random.default_rng(seed)
    return [int(error) for rate, length in parts for error in rng.random(length) < rate]


def watched(errors: Sequence[int], c: int = ANOMALY) -> Ints:
    detectors = new_detectors()
    for number, error in enumerate(errors, 1):
        watch(detectors, c, error, number)
    return detectors


def buckets(detector: Ints) -> list[tuple[int, int]]:
    """Size and errors of every bucket, oldest first."""
    rows = detector[place.HISTOGRAM :].reshape(ROWS, ROW).tolist()
    return [(1 << r, errors) for r in reversed(range(ROWS)) for errors in rows[r][1 : 1 + rows[r][0]]]


def assert_agrees(errors: Sequence[int]) -> None:
    detectors, twin = new_detectors(), Adwin()
    for number, error in enumerate(errors, 1):
        watch(detectors, NORMAL, error, number)
        twin.watch(error, number)
        if number % CLOCK == 0 or number == len(errors):
            assert buckets(detectors[NORMAL]) == [(len(bucket), sum(bucket)) for bucket in twin.buckets], number
    expected = [twin.seen, len(twin.window), sum(twin.window), twin.worse, twin.better, twin.last_worse]
    assert detectors[NORMAL, : place.HISTOGRAM].tolist() == expected


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000), parts=st.lists(st.tuples(RATE, st.integers(1, 400)), min_size=1, max_size=4))
def test_the_detector_agrees_with_its_reference(seed: int, parts: list[tuple[float, int]]) -> None:
    assert_agrees(errors_at(seed, *parts))


@settings(max_examples=25, deadline=None)
@given(errors=st.lists(BIT, max_size=200))
def test_the_detector_agrees_with_its_reference_on_any_errors(errors: list[int]) -> None:
    assert_agrees(errors)


def test_the_detector_agrees_with_its_reference_over_several_changes() -> None:
    errors = errors_at(1, (0.05, 700), (0.5, 300), (0.1, 500), (0.9, 100))
    assert_agrees(errors)
    assert watched(errors)[ANOMALY, [place.WORSE, place.BETTER]].min() >= 1


@pytest.mark.parametrize("error", [0, 1])
def test_constant_errors_are_not_a_change(error: int) -> None:
    figures = watched([error] * 10_000)[ANOMALY, : place.HISTOGRAM]
    assert figures.tolist() == [10_000, 10_000, error * 10_000, 0, 0, 0]


@pytest.mark.parametrize("rate", [0.02, 0.2])
def test_a_constant_rate_is_not_a_change(rate: float) -> None:
    detector = watched(errors_at(2, (rate, 30_000)))[ANOMALY]
    assert (detector[place.WORSE], detector[place.BETTER], detector[place.LABELS]) == (0, 0, 30_000)


def test_a_jump_of_the_rate_is_a_change_to_the_worse_and_drops_the_past() -> None:
    detector = watched(errors_at(3, (0.02, 5000), (0.2, 3000)))[ANOMALY]
    assert detector[place.WORSE] >= 1
    assert detector[place.BETTER] == 0
    assert 5000 < detector[place.LAST_WORSE] <= 8000
    assert detector[place.LABELS] < 4000
    assert 0.15 < detector[place.ERRORS] / detector[place.LABELS] < 0.25


def test_a_fall_of_the_rate_is_a_change_to_the_better() -> None:
    detector = watched(errors_at(4, (0.5, 2000), (0.05, 2000)))[ANOMALY]
    assert (detector[place.WORSE], detector[place.LAST_WORSE]) == (0, 0)
    assert detector[place.BETTER] >= 1


def test_a_flip_from_right_to_wrong_is_found_at_the_next_check() -> None:
    errors = [0] * (10 * CLOCK) + [1] * CLOCK
    assert watched(errors[:-1])[ANOMALY, place.WORSE] == 0
    assert watched(errors)[ANOMALY, [place.WORSE, place.LAST_WORSE]].tolist() == [1, 11 * CLOCK]


@given(errors=st.lists(BIT, max_size=300))
def test_both_classes_are_monitored_alike_and_separately(errors: list[int]) -> None:
    anomaly, normal = watched(errors, ANOMALY), watched(errors, NORMAL)
    assert anomaly[ANOMALY].tobytes() == normal[NORMAL].tobytes()
    assert not anomaly[NORMAL].any()
    assert not normal[ANOMALY].any()


@given(errors=st.lists(BIT, max_size=300))
def test_the_histogram_adds_up_and_unused_buckets_are_0(errors: list[int]) -> None:
    detector = watched(errors)[ANOMALY]
    found = buckets(detector)
    assert sum(size for size, _ in found) == detector[place.LABELS]
    assert sum(errors for _, errors in found) == detector[place.ERRORS]
    for row in detector[place.HISTOGRAM :].reshape(ROWS, ROW).tolist():
        assert row[0] <= MOST
        assert not any(row[1 + row[0] :])


def test_a_full_window_drops_its_oldest_labels() -> None:
    detectors = new_detectors()
    rows = detectors[NORMAL, place.HISTOGRAM :].reshape(ROWS, ROW)
    rows[:, 0] = MOST
    detectors[NORMAL, place.LABELS] = MOST * (2**ROWS - 1)
    watch(detectors, NORMAL, 1, 1)
    oldest = 2 ** (ROWS - 1)
    assert detectors[NORMAL, place.LABELS] == MOST * (2**ROWS - 1) + 1 - oldest
    assert sum(size for size, _ in buckets(detectors[NORMAL])) == detectors[NORMAL, place.LABELS]
    assert (detectors[NORMAL, place.ERRORS], rows[0, 0], rows[-1, 0]) == (1, MOST - 1, MOST)
