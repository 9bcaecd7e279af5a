from itertools import pairwise

import numpy as np
import pytest

from experiments.paper import hindsight, theorems
from experiments.paper.regret import Regret, exponent, losses, run
from experiments.paper.theorems import KINDS, RADIUS, THEOREMS, Compared, R, Rounds, coins, compared, floor, separable

COUNT, DIMENSIONS = 600, 4
TO = Compared(rounds=1_000, dimensions=5, norm=3.0, energy=400.0)


@pytest.fixture(params=KINDS)
def rounds(request: pytest.FixtureRequest) -> Rounds:
    return KINDS[request.param](COUNT, DIMENSIONS, np.random.default_rng(1))


def test_examples_are_bounded_as_the_theorems_want_it(rounds: Rounds) -> None:
    assert rounds.examples.shape == (COUNT, DIMENSIONS)
    assert np.abs(rounds.examples).sum(axis=1) == pytest.approx(RADIUS)
    assert set(rounds.labels) == {1.0, -1.0}


def test_a_separator_has_no_loss() -> None:
    rounds = separable(COUNT, DIMENSIONS, np.random.default_rng(1))
    assert rounds.separator is not None
    assert (rounds.signed @ rounds.separator).min() >= 1.0 - 1e-12


def test_the_energy_is_that_of_the_matrix(rounds: Rounds) -> None:
    weights = np.random.default_rng(2).normal(size=DIMENSIONS)
    matrix = np.eye(DIMENSIONS) + rounds.examples.T @ rounds.examples / R
    assert compared(rounds.examples, weights).energy == pytest.approx(weights @ matrix @ weights)


@pytest.mark.parametrize("algorithm", THEOREMS)
def test_a_bound_is_lowest_at_its_rate(algorithm: str) -> None:
    theorem = THEOREMS[algorithm]
    rate = theorem.rate(TO)
    assert theorem.bound(TO, rate) < min(theorem.bound(TO, 0.9 * rate), theorem.bound(TO, 1.1 * rate))


def test_the_first_bound_at_its_rate_is_that_of_the_theorem() -> None:
    theorem = THEOREMS["fsol"]
    stated = TO.norm * np.sqrt((RADIUS**2 + 2.0 * theorems.LAMBDA * RADIUS) * TO.rounds)
    assert theorem.bound(TO, theorem.rate(TO)) == pytest.approx(stated)


def test_first_order_losses_are_those_of_the_paper(rounds: Rounds) -> None:
    eta, theta = 0.7, np.zeros(DIMENSIONS)
    expected = []
    for signed in rounds.signed:
        weights = np.sign(theta) * np.maximum(np.abs(theta) - eta * theorems.LAMBDA, 0.0)
        expected.append(max(0.0, 1.0 - signed @ weights))
        theta += eta * signed * (expected[-1] > 0.0)
    assert losses("fsol", rounds, eta) == pytest.approx(expected)


def test_a_power_of_t_is_found() -> None:
    horizons = [10, 100, 1_000, 10_000]
    assert exponent(horizons, [99.0, *(3.0 * count**0.4 for count in horizons[1:])], 100) == pytest.approx(0.4)
    assert exponent([10, 100], [1.0, -1.0], 10) is None


def test_the_majority_of_each_coin_is_best_in_hindsight() -> None:
    pytest.importorskip("scipy")
    rounds = coins(COUNT, DIMENSIONS, np.random.default_rng(1))
    found = hindsight.best(rounds.signed, np.zeros(DIMENSIONS))
    assert found.loss == pytest.approx(COUNT - np.abs(rounds.signed.sum(axis=0)).sum())


def test_no_other_weights_are_better_in_hindsight(rounds: Rounds, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("scipy")
    monkeypatch.setattr(hindsight, "LEAST", 50)  # too few at first, so that it has to look again
    found = hindsight.best(rounds.signed, np.zeros(DIMENSIONS))
    assert found.gap <= hindsight.TOLERANCE * max(1.0, found.loss)
    around = found.weights + np.random.default_rng(3).normal(scale=0.1, size=(200, DIMENSIONS))
    assert min(hindsight.loss(rounds.signed, weights) for weights in around) >= found.loss - 1e-9


def test_at_a_fixed_rate_the_second_order_ends_where_it_is_bound_to() -> None:
    pytest.importorskip("scipy")
    rounds = separable(20_000, DIMENSIONS, np.random.default_rng(1))
    measured = losses("ssol-full", rounds, 2.0)[5_000:].mean()
    assert measured == pytest.approx(hindsight.limit_loss(rounds.signed, 2.0), rel=0.02)
    assert measured > 100.0 * losses("fsol", rounds, 2.0)[5_000:].mean()


@pytest.fixture(scope="module")
def result() -> Regret:
    pytest.importorskip("scipy")
    return run(sequence="coins", dimensions=20, horizons=[100, 300, 1_000], seeds=3, fit_from=100)


def test_no_regret_is_above_its_bound(result: Regret) -> None:
    assert max(curve.largest_share for curve in result.curves) <= 1.0


def test_regret_on_coins_grows_like_the_root_of_t(result: Regret) -> None:
    for algorithm in THEOREMS:
        found = np.mean([one for one in result.curve(algorithm, "tuned").exponents if one is not None])
        assert found == pytest.approx(0.5, abs=0.1)
        last = np.mean([own[-1] for own in result.curve(algorithm, "tuned").regrets])
        assert last == pytest.approx(floor(1_000, 20), rel=0.25)


def test_the_energy_of_the_best_weights_grows_with_t(result: Regret) -> None:
    for own in result.energies:
        assert all(late > 2.0 * early for early, late in pairwise(own))
