import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.learning.parts.confusion import Confusion
from app.learning.prequential import FADING, WINDOW, Prequential
from kernels.arrays import Floats

EMPTY = Confusion(0, 0, 0, 0)
counts = st.builds(Confusion, *[st.integers(0, 50)] * 4)


def stream(seed: int, length: int) -> tuple[Floats, Floats]:
    """Labels and scores, of which some are exactly at the threshold 0."""
    rng = np.random.default_rng(seed)
    return rng.choice([1.0, -1.0], length, p=[0.3, 0.7]), rng.integers(-2, 3, length).astype(np.float64)


def recorded(labels: Floats, scores: Floats, threshold: float = 0.0) -> Prequential:
    prequential = Prequential()
    prequential.record(labels, scores, threshold)
    return prequential


def counted(labels: Floats, scores: Floats, threshold: float = 0.0, fading: float = 1.0) -> Confusion:
    """The counts, one example after the other."""
    cells = {(label, verdict): 0.0 for label in (False, True) for verdict in (False, True)}
    for label, score in zip(labels, scores, strict=True):
        cells = {cell: fading * count for cell, count in cells.items()}
        cells[bool(label > 0.0), bool(score > threshold)] += 1.0
    return Confusion(cells[False, False], cells[False, True], cells[True, False], cells[True, True])


lengths = pytest.mark.parametrize("length", [0, 1, WINDOW - 1, WINDOW, WINDOW + 1, 2 * WINDOW, 3 * WINDOW + 17])


@lengths
@pytest.mark.parametrize("threshold", [0.0, 1.0, -0.5])
def test_the_lifetime_counts_all_examples(length: int, threshold: float) -> None:
    labels, scores = stream(length, length)
    assert recorded(labels, scores, threshold).lifetime == counted(labels, scores, threshold)


@lengths
def test_the_recent_counts_are_those_of_the_last_examples(length: int) -> None:
    labels, scores = stream(length, length)
    assert recorded(labels, scores).recent == counted(labels[-WINDOW:], scores[-WINDOW:])


@lengths
def test_in_the_fading_counts_the_past_fades(length: int) -> None:
    labels, scores = stream(length, length)
    assert recorded(labels, scores).fading == counted(labels, scores, fading=FADING)


@settings(max_examples=30)
@given(seed=st.integers(0, 1000), cuts=st.lists(st.integers(0, 2500), max_size=6))
def test_recording_in_parts_changes_no_bit(seed: int, cuts: list[int]) -> None:
    labels, scores = stream(seed, 2500)
    in_parts = Prequential()
    for part in zip(np.split(labels, sorted(cuts)), np.split(scores, sorted(cuts)), strict=True):
        in_parts.record(*part, 0.0)
    assert bits(in_parts) == bits(recorded(labels, scores))


def test_recording_one_by_one_equals_a_batch() -> None:
    labels, scores = stream(7, WINDOW + 500)
    singly = Prequential()
    for i in range(labels.size):
        singly.record_one(labels[i], scores[i], 0.0)
    assert bits(singly) == bits(recorded(labels, scores))


def test_a_score_at_the_threshold_is_normal() -> None:
    assert recorded(np.array([1.0]), np.array([0.5]), threshold=0.5).lifetime == Confusion(0, 0, 1, 0)


def test_a_changed_threshold_counts_from_the_next_example_on() -> None:
    prequential = Prequential()
    for threshold in (0.0, 2.0):
        prequential.record(np.array([1.0]), np.array([1.0]), threshold)
    assert prequential.lifetime == Confusion(0, 0, 1, 1)


def test_two_tenants_do_not_share_their_counts() -> None:
    recorded(np.ones(5), np.ones(5))
    assert Prequential().lifetime == EMPTY


def test_without_examples_no_rate_is_defined() -> None:
    rates = (EMPTY.error, EMPTY.sensitivity, EMPTY.specificity, EMPTY.balanced_accuracy, EMPTY.weighted_sum(0.3))
    assert rates == (None, None, None, None, None)


def test_without_anomalies_only_the_rates_of_the_normal_are_defined() -> None:
    confusion = Confusion(3, 1, 0, 0)
    assert (confusion.error, confusion.specificity, confusion.sensitivity) == (0.25, 0.75, None)
    assert confusion.balanced_accuracy is None


def test_without_normal_examples_only_the_rates_of_the_anomalies_are_defined() -> None:
    confusion = Confusion(0, 0, 1, 3)
    assert (confusion.error, confusion.specificity, confusion.sensitivity) == (0.25, None, 0.75)
    assert confusion.balanced_accuracy is None


def test_a_rate_of_zero_is_defined() -> None:
    assert Confusion(0, 2, 2, 0).balanced_accuracy == 0.0


@given(confusion=counts)
def test_the_classes_add_up_to_all_examples(confusion: Confusion) -> None:
    assert confusion.positives + confusion.negatives == confusion.examples


@given(confusion=counts)
def test_every_rate_that_is_defined_lies_between_0_and_1(confusion: Confusion) -> None:
    rates = (confusion.error, confusion.sensitivity, confusion.specificity, confusion.balanced_accuracy)
    assert all(0.0 <= rate <= 1.0 for rate in rates if rate is not None)


def test_the_weighted_sum_is_that_of_the_paper() -> None:
    assert Confusion(3, 1, 2, 2).weighted_sum(0.8) == pytest.approx(0.8 * 0.5 + 0.2 * 0.75)


@pytest.mark.parametrize(("mu_positive", "expected"), [(0.0, 0.75), (1.0, 0.5), (0.5, 0.625)])
def test_the_weighted_sum_goes_from_specificity_to_sensitivity(mu_positive: float, expected: float) -> None:
    assert Confusion(3, 1, 2, 2).weighted_sum(mu_positive) == expected


def bits(prequential: Prequential) -> list[bytes]:
    return [array.tobytes() for array in prequential.arrays()]
