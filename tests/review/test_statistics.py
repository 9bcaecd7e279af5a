"""Kappa and the tests against slow twins, and against published examples."""

import math
from collections import Counter

import numpy as np
import pytest

from app.review.statistics import Stratum, fisher, holm, kappa, mantel_haenszel, wilson
from tests.reference import agreement as naive


def random_labels(seed: int) -> list[tuple[int, int]]:
    draw = np.random.default_rng(seed)
    bias, follow = draw.random(), draw.random()
    labels = []
    for _ in range(int(draw.integers(1, 41))):
        first = 1 if draw.random() < bias else -1
        labels.append((first, first if draw.random() < follow else int(draw.choice([1, -1]))))
    return labels


@pytest.mark.parametrize("seed", range(60))
def test_kappa_agrees_with_its_twin(seed: int) -> None:
    labels = random_labels(seed)
    cells = Counter(labels)
    counts = (cells[1, 1], cells[1, -1], cells[-1, 1], cells[-1, -1])
    for found, expected in (
        (kappa(*counts), naive.cohen(labels)),
        (kappa(*counts, exchangeable=True), naive.fleiss(labels)),
    ):
        assert found.pairs == len(labels)
        if expected is None:
            assert found.value is None
            assert found.reason is not None
        else:
            assert found.value == pytest.approx(float(expected))
            assert found.value is not None
            assert found.low is not None
            assert found.high is not None
            assert -1 <= found.low <= found.value <= found.high <= 1


def test_kappa_of_a_published_table() -> None:
    found = kappa(20, 5, 10, 15)  # Wikipedia's example of Cohen's kappa
    assert found.value == pytest.approx(0.4)
    assert found.agreement == pytest.approx(0.7)


def test_a_few_pairs_that_all_agree_prove_little() -> None:
    found = kappa(2, 0, 0, 1)
    assert found.value == 1
    assert found.low is not None
    assert found.low < 0.2


def test_without_pairs_nothing_is_known() -> None:
    found = kappa(0, 0, 0, 0)
    assert (found.pairs, found.value, found.agreement) == (0, None, None)
    assert found.reason == "nobody has labelled what somebody else has labelled too"


@pytest.mark.parametrize(("counts", "name"), [((7, 0, 0, 0), "anomaly"), ((0, 0, 0, 7), "normal")])
def test_one_label_for_everything_is_no_agreement_beyond_chance(counts: tuple[int, ...], name: str) -> None:
    found = kappa(*counts)
    assert (found.value, found.agreement) == (None, 1.0)
    assert found.reason == f"every label is {name}, so agreement is no better than chance"


def test_wilsons_interval_of_a_published_example() -> None:
    assert wilson(10, 20) == pytest.approx((0.2993, 0.7007), abs=1e-4)
    assert wilson(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)


@pytest.mark.parametrize("seed", range(60))
def test_fishers_test_agrees_with_its_twin(seed: int) -> None:
    draw = np.random.default_rng(seed)
    trials, others = int(draw.integers(1, 61)), int(draw.integers(1, 61))
    counts = (int(draw.integers(0, trials + 1)), trials, int(draw.integers(0, others + 1)), others)
    assert fisher(Stratum(*counts)) == pytest.approx(float(naive.fisher(*counts)), rel=1e-9)


def test_fishers_test_of_a_published_table() -> None:
    assert fisher(Stratum(3, 4, 1, 4)) == pytest.approx(0.4857, abs=1e-4)  # the lady tasting tea, two-sided


@pytest.mark.parametrize("seed", range(20))
def test_the_stratified_test_agrees_with_dealing_hits_in_every_order(seed: int) -> None:
    draw = np.random.default_rng(seed)
    strata = [
        [(draw.random() < 0.4, draw.random() < 0.5) for _ in range(int(draw.integers(2, 7)))]
        for _ in range(int(draw.integers(1, 4)))
    ]
    counted = [
        Stratum(
            sum(mine and hit for mine, hit in each), sum(mine for mine, _ in each),
            sum(hit and not mine for mine, hit in each), sum(not mine for mine, _ in each),
        )
        for each in strata
    ]  # fmt: skip
    mean, variance, found = naive.excess_moments(strata)
    p_value = mantel_haenszel(counted)
    if variance == 0:
        assert p_value is None
    else:
        excess = max(abs(float(found - mean)) - 0.5, 0.0)
        assert p_value == pytest.approx(math.erfc(excess / math.sqrt(2 * float(variance))))


def test_another_mix_of_strata_is_no_difference() -> None:
    strata = [Stratum(90, 100, 9, 10), Stratum(1, 10, 10, 100)]
    assert mantel_haenszel(strata) == pytest.approx(1.0)
    together = Stratum(91, 110, 19, 110)
    assert fisher(together) < 1e-9, "Simpson's paradox"


def test_holms_correction_keeps_the_order() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []
