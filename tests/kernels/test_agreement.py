"""Every kernel agrees with its dense reference, which is written from the paper."""

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from app.learning.config import DEFAULTS, WITH_COSTS, config_of
from app.learning.example import example_of
from app.learning.model import Model
from app.learning.parts.names import BIAS_NAME
from kernels.feature_hash import key_of
from kernels.learner.options import SCHEDULES
from kernels.learner.totals import SCALE
from kernels.registry import ALGORITHMS, load
from tests.reference import reference_of
from tests.streams import Floats, Stream, named, random_stream

TOLERANCE = 1e-9

VARIATIONS: dict[str, list[dict[str, Any]]] = {
    "normalize": [{"normalize": "none", "eta": 0.1}],
    "bias": [{"bias": True}],
    "eta": [{"eta": 0.3}, {"eta": 8.0}],
    "r": [{"r": 0.25}, {"r": 16.0}],
    "delta": [{"delta": 0.1}],
    "lambda_schedule": [{"lambda": 0.01, "lambda_schedule": name} for name in SCHEDULES],
    "target_sparsity": [{"target_sparsity": 0.5}, {"target_sparsity": 0.9, "bias": True}],
    "costs": [{"costs": "given", "cost_positive": 7.0, "cost_negative": 0.5}, {"mu_positive": 0.8}],
    "denominator": [{"denominator": "coordinate"}, {"denominator": "coordinate", "lambda": 0.02}],
    "threshold_on": [{"threshold_on": "theta", "lambda": 0.05}, {"threshold_on": "theta", "target_sparsity": 0.7}],
    "forgetting": [{"forgetting": 0.01, "lambda": 0.01}, {"forgetting": 0.4}, {"forgetting": 0.02, "bias": True}],
    "truncate_every": [
        {"truncate_every": 3, "lambda": 0.05},
        {"truncate_every": 7, "truncate_below": 0.3, "lambda": 0.1},
    ],
}
ALWAYS = {"normalize", "bias"}


def variations(algorithm: str) -> list[dict[str, Any]]:
    """The defaults, each option on its own, and pairs of options of different kinds."""
    options = ALWAYS | load(algorithm).options
    singles = [change for option in VARIATIONS if option in options for change in VARIATIONS[option]]
    usable = [change for change in singles if _known(algorithm, change)]
    pairs = [a | b for a, b in product(usable, usable) if not a.keys() & b.keys() and _known(algorithm, a | b)]
    return [{}, *usable, *pairs[:: max(1, len(pairs) // 12)]]


def _known(algorithm: str, change: dict[str, Any]) -> bool:
    options = ALWAYS | load(algorithm).options
    options = options | WITH_COSTS if "costs" in options else options
    return change.keys() <= options and not {"lambda", "target_sparsity"} <= change.keys()


CASES = [pytest.param(name, change, id=f"{name}-{change}") for name in ALGORITHMS for change in variations(name)]


@pytest.mark.parametrize(("algorithm", "change"), CASES)
def test_every_algorithm_agrees_with_its_dense_reference(algorithm: str, change: dict[str, Any]) -> None:
    stream = random_stream(seed=len(algorithm) + 17 * len(change))
    config = config_of({"algorithm": algorithm, **change})
    model = Model(config)
    reference = reference_of(algorithm)(_all_values(dict(config.values)), stream.dimension)
    for number, (x, label) in enumerate(stream):
        expected = reference.learn(x, label)
        if number % 10 == 0:
            assert _close(model.score(example_of(named(x)))[0], expected)
        assert _close(model.learn(example_of(named(x)), label), expected), f"example {number}"
    assert _close_arrays(_weights(model, stream, bias=config.bias), reference.weights())


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_long_stream_stays_in_agreement(algorithm: str) -> None:
    stream = random_stream(seed=5, examples=3000, dimension=12, active=5)
    options = load(algorithm).options
    change = {"target_sparsity": 0.4} if "target_sparsity" in options else {}
    change |= {"forgetting": 0.3} if "forgetting" in options else {}  # enough to rescale the rows several times
    config = config_of({"algorithm": algorithm, **change})
    model = Model(config)
    reference = reference_of(algorithm)(_all_values(dict(config.values)), stream.dimension)
    for number, (x, label) in enumerate(stream):
        assert _close(model.learn(example_of(named(x)), label), reference.learn(x, label)), f"example {number}"


def test_cs_sol_forgets_what_the_labels_contradict_as_its_reference_does() -> None:
    rng = np.random.default_rng(3)
    normal = rng.normal(size=20)
    model, steady = (Model(config_of({"algorithm": "cs-sol"})) for _ in range(2))
    reference = reference_of("cs-sol")(_all_values(dict(config_of({"algorithm": "cs-sol"}).values)), normal.size)
    errors = 0
    for number, x in enumerate(rng.normal(size=(4000, normal.size))):
        label = 1 if x @ normal > 0.0 else -1
        steady.learn(example_of(named(x)), label)
        taught = label if number < 2000 else -label
        score = model.learn(example_of(named(x)), taught)
        assert _close(score, reference.learn(x, taught)), f"example {number}"
        errors += number >= 2200 and taught * score < 0.0
    assert model.tally[SCALE] < 0.2
    assert errors < 0.1 * 1800, "soon after all labels have changed, it is right again"
    assert steady.tally[SCALE] == 1.0, "nothing is forgotten on a steady stream"


def test_cs_fsol_without_lambda_equals_slope_cs_ogd() -> None:
    fsol = Model(config_of({"algorithm": "cs-fsol", "lambda": 0.0}))
    ogd = Model(config_of({"algorithm": "cs-ogd"}))
    for x, label in random_stream(seed=1):
        example = example_of(named(x))
        assert fsol.learn(example, label) == ogd.learn(example, label)


@pytest.mark.parametrize("costly", ["", "cs-"])
def test_diagonal_equals_full_matrix_where_features_never_occur_together(costly: str) -> None:
    rng = np.random.default_rng(3)
    diagonal = Model(config_of({"algorithm": f"{costly}ssol", "normalize": "none", "lambda": 0.01}))
    full = Model(config_of({"algorithm": f"{costly}ssol-full", "normalize": "none", "lambda": 0.01}))
    for _ in range(500):
        example = example_of({f"f{rng.integers(20)}": rng.normal()})
        label = int(rng.choice([-1, 1]))
        assert math.isclose(diagonal.learn(example, label), full.learn(example, label), abs_tol=1e-12)


@pytest.mark.parametrize("plain", ["fsol", "ssol", "ssol-full"])
def test_costs_of_one_change_nothing(plain: str) -> None:
    without = Model(config_of({"algorithm": plain, "lambda": 0.01}))
    costly = Model(config_of({"algorithm": f"cs-{plain}", "lambda": 0.01, "costs": "given"}))
    for x, label in random_stream(seed=2):
        assert without.learn(example_of(named(x)), label) == costly.learn(example_of(named(x)), label)


def _all_values(in_force: dict[str, Any]) -> dict[str, Any]:
    values = DEFAULTS | in_force
    return values | {"truncate_below": math.inf if values["truncate_below"] is None else values["truncate_below"]}


def _weights(model: Model, stream: Stream, *, bias: bool) -> Floats:
    survey = model.survey()
    found = dict(zip(survey.keys.tolist(), survey.weights.tolist(), strict=True))
    names = [f"f{i}" for i in range(stream.dimension)] + ([BIAS_NAME] if bias else [])
    return np.array([found.get(key_of(name), 0.0) for name in names])


def _close(ours: float, reference: float) -> bool:
    return math.isclose(ours, reference, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def _close_arrays(ours: Floats, reference: Floats) -> bool:
    return bool(np.allclose(ours, reference, rtol=TOLERANCE, atol=TOLERANCE))
