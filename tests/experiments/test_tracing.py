"""Lambdas are found for wanted sparsities, wherever they lie."""

import math

import pytest

from experiments.tracing import lambdas, tolerance

LEVELS = (0.2, 0.5, 0.8, 0.9, 0.98)


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1.0, 1e4])
def test_every_level_is_met(scale: float) -> None:
    def sparsity_at(strength: float) -> float:
        return 1.0 - math.exp(-strength / scale)

    found = lambdas(sparsity_at, LEVELS)
    for level in LEVELS:
        assert min(abs(sparsity_at(each) - level) for each in found) <= tolerance(level)


def test_zero_is_always_among_them_and_none_is_twice() -> None:
    found = lambdas(lambda strength: min(strength, 1.0), LEVELS)
    assert found[0] == 0.0
    assert len(set(found)) == len(found)
    assert found == sorted(found)


def test_a_model_that_is_sparse_by_itself_is_looked_at_from_there_on() -> None:
    found = lambdas(lambda strength: max(0.6, 1.0 - math.exp(-strength)), LEVELS)
    assert max(1.0 - math.exp(-each) for each in found) == pytest.approx(0.98, abs=0.01)


def test_a_sparsity_that_cannot_be_reached_ends_the_search() -> None:
    looks = []

    def sparsity_at(strength: float) -> float:
        looks.append(strength)
        return 0.5 if strength > 1.0 else 0.0

    assert lambdas(sparsity_at, LEVELS)[0] == 0.0
    assert len(looks) < 60


def test_nothing_is_looked_at_twice() -> None:
    looks = []

    def sparsity_at(strength: float) -> float:
        looks.append(strength)
        return 1.0 - 1.0 / (1.0 + strength)

    lambdas(sparsity_at, LEVELS)
    assert len(looks) == len(set(looks))
