"""Valid values and settings at the limits of their ranges never lead to infinity or NaN."""

import numpy as np
import pytest

from app.learning.config import NUMBERED, Value
from app.learning.example import Example
from app.learning.model import FULL_VALUE, Model
from kernels.examples.canonical import LARGEST_VALUE
from kernels.registry import ALGORITHMS, load
from tests.kernels.tables import model_of

each_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS)
ENDS: dict[str, list[Value]] = {
    "eta": [1e-12, 1e12],
    "r": [1e-12, 1e12],
    "delta": [1e-12, 1e12],
    "lambda": [0.0, 1e12],
    "forgetting": [0.0, 0.5],
    "cost_positive": [1e-12, 1e12],
}
WIDE = (-100.0, 100.0)  # powers of ten
LARGE = (99.0, 100.0)
SMALL = (-100.0, -99.0)


def largest_value(model: Model) -> float:
    """What a full matrix refuses is left out here."""
    return FULL_VALUE if model.config.algorithm.state == NUMBERED and not model.config.l2 else LARGEST_VALUE


def scores_are_finite(model: Model, powers: tuple[float, float], seed: int) -> bool:
    """Whether all scores of a random stream are, its values being of the given powers of ten."""
    rng = np.random.default_rng(seed)
    for _ in range(40):
        keys = rng.choice(8, rng.integers(0, 6), replace=False).astype(np.uint64) + np.uint64(1)
        values = rng.choice([-1.0, 1.0], keys.size) * 10.0 ** rng.uniform(*powers, keys.size)
        values = np.clip(values, -largest_value(model), largest_value(model))
        if not np.isfinite(model.learn(Example(keys, values), int(rng.choice([1, -1])))):
            return False
    return True


@each_algorithm
@pytest.mark.parametrize("normalize", ["l2", "none"])
@pytest.mark.parametrize("powers", [LARGE, SMALL, WIDE])
def test_values_of_any_size_give_finite_scores(algorithm: str, normalize: str, powers: tuple[float, float]) -> None:
    assert all(
        scores_are_finite(model_of(algorithm=algorithm, normalize=normalize), powers, seed) for seed in range(20)
    )


@each_algorithm
@pytest.mark.parametrize(("name", "value"), [(name, value) for name, ends in ENDS.items() for value in ends])
def test_settings_at_the_ends_of_their_ranges_give_finite_scores(algorithm: str, name: str, value: Value) -> None:
    if name not in load(algorithm).options | ({"cost_positive"} if "costs" in load(algorithm).options else set()):
        return
    for powers in (LARGE, SMALL, (0.0, 1.0)):
        model = model_of(algorithm=algorithm, normalize="none", bias=True, **{name: value})
        assert scores_are_finite(model, powers, seed=1)


@each_algorithm
def test_a_large_value_does_not_disable_its_feature(algorithm: str) -> None:
    model = model_of(algorithm=algorithm, normalize="none")
    example = Example(np.array([1], np.uint64), np.array([1e10 if largest_value(model) > 1e10 else FULL_VALUE]))
    for _ in range(3):
        model.learn(example, 1)
    score, _, _ = model.score(example)
    assert score > 0.0
