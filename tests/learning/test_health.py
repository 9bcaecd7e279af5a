"""A tenant whose verdicts are no better than chance says so."""

import numpy as np
import pytest

from app.learning.config import Value
from app.learning.health import health_of
from app.learning.state import TenantState
from kernels.evaluation.skill import LEAST_LABELS


def state_of(sensitivity: float, false_alarms: float, positives: int, negatives: int, **settings: Value) -> TenantState:
    """Return a state that has given verdicts with these rates."""
    rng = np.random.default_rng(1)
    state = TenantState(settings)
    labels = rng.permutation(np.concatenate([np.ones(positives), -np.ones(negatives)]))
    rates = np.where(labels > 0, sensitivity, false_alarms)
    state.prequential.record(labels, np.where(rng.random(labels.size) < rates, 1.0, -1.0), 0.0)
    return state


def test_a_tenant_is_not_judged_before_there_are_labels_enough() -> None:
    health = health_of(state_of(0.0, 0.0, LEAST_LABELS - 1, 5000))
    assert (health.status, health.suggestions) == ("learning", ())
    assert "29 labels of anomalies and 5,000 of normal inputs" in health.detail


@pytest.mark.parametrize(
    ("sensitivity", "false_alarms"), [(0.0, 0.0), (1.0, 1.0), (0.5, 0.5), (0.02, 0.02), (0.1, 0.9), (0.0, 1.0)]
)
def test_verdicts_without_skill_are_poor(sensitivity: float, false_alarms: float) -> None:
    state = state_of(sensitivity, false_alarms, 320, 16_000)
    health = health_of(state)
    assert health.status == "poor"
    assert "no better than chance" in health.detail
    assert health.suggestions
    assert state.is_poor


@pytest.mark.parametrize(("sensitivity", "false_alarms"), [(0.9, 0.1), (0.3, 0.01), (0.6, 0.3), (1.0, 0.0)])
def test_verdicts_with_some_skill_are_good(sensitivity: float, false_alarms: float) -> None:
    state = state_of(sensitivity, false_alarms, 100, 5000)
    assert health_of(state).status == "good"
    assert not state.is_poor


def test_a_fixed_threshold_that_gives_all_the_same_verdict_is_named() -> None:
    assert "threshold to 'auto'" in " ".join(health_of(state_of(0.0, 0.0, 100, 5000)).suggestions)
    assert "threshold" not in " ".join(health_of(state_of(0.0, 0.0, 100, 5000, threshold="auto")).suggestions)


def test_a_model_that_has_become_good_is_good_soon() -> None:
    state = state_of(0.0, 0.0, 200, 10_000)
    rng = np.random.default_rng(2)
    labels = np.where(rng.random(4000) < 0.02, 1.0, -1.0)
    state.prequential.record(labels, labels * 0.5, 0.0)
    state.use_threshold()
    assert health_of(state).status == "good"


def test_random_verdicts_rarely_pass() -> None:
    passed = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        state = TenantState()
        labels = np.where(rng.random(2000) < 0.1, 1.0, -1.0)
        state.prequential.record(labels, np.where(rng.random(2000) < 0.3, 1.0, -1.0), 0.0)
        passed += health_of(state).status == "good"
    assert passed <= 20
