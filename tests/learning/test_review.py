"""The review policy of a state: which reason applies, and what labels of chosen predictions do."""

import numpy as np
import pytest

from app.learning.config import Value
from app.learning.events import FeedbackGiven
from app.learning.example import example_of
from app.learning.first_settings import settings_of_new_tenants
from app.learning.replay import advance_all, replay
from app.learning.review import REASONS
from app.learning.state import TenantState, advance

POLICY: dict[str, Value] = {"review_uncertain": 0.6, "review_flagged": 0.3, "review_random": 0.1}
SETTINGS: dict[str, Value] = {"algorithm": "cs-sol", "threshold": "auto", **POLICY}


def events(count: int, *, chosen: bool) -> list[FeedbackGiven]:
    """Labels with some features of their class, each chosen with a probability of its own."""
    rng, found = np.random.default_rng(1), []
    for _ in range(count):
        label = 1 if rng.random() < 0.3 else -1
        names = [f"{'a' if rng.random() < 0.7 else 'b'}{label * int(rng.integers(0, 9))}" for _ in range(5)]
        probability = float(rng.choice([0.01, 0.2, 1.0]))
        example = example_of(dict.fromkeys(names, 1.0))
        found.append(FeedbackGiven(example, label, chosen_with=probability if chosen else None))
    return found


def learnt(count: int, settings: dict[str, Value] | None = None, *, chosen: bool = False) -> TenantState:
    return replay(events(count, chosen=chosen), onto=TenantState(settings or SETTINGS))


def test_a_new_model_has_no_opinion_on_anything() -> None:
    reason, share = TenantState(SETTINGS).review_of(0.0, -1)
    assert (REASONS[reason], share) == ("unknown", 0.6)


def test_scores_near_the_threshold_are_uncertain_and_others_flagged_or_random() -> None:
    state = learnt(400)
    threshold = state.model.threshold
    found = [state.review_of(threshold + by, 1 if by > 0.0 else -1) for by in (0.001, -0.001, 9.0, -9.0)]
    assert [(REASONS[reason], share) for reason, share in found] == [
        ("uncertain", 0.6), ("uncertain", 0.6), ("random", 0.3), ("random", 0.1)
    ]  # fmt: skip


def test_the_band_follows_the_scores_of_the_tenant() -> None:
    narrow, wide = (learnt(400, SETTINGS | {"review_band": band}) for band in (0.01, 0.8))
    far = wide.model.threshold - 0.2
    assert (narrow.review_of(far, -1)[1], wide.review_of(far, -1)[1]) == (0.1, 0.6)


def test_without_an_objective_nothing_is_uncertain() -> None:
    state = learnt(400, {"algorithm": "cs-ssol", **POLICY})
    assert state.review_of(0.001, 1) == (REASONS.index("random"), 0.3)


def test_a_score_that_is_not_finite_says_nothing() -> None:
    state = learnt(400)
    assert [REASONS[state.review_of(score, -1)[0]] for score in (np.nan, np.inf, -np.inf)] == ["unknown"] * 3


def test_labels_of_chosen_predictions_learn_the_same_in_a_batch_and_one_by_one() -> None:
    singly, together = TenantState(SETTINGS), TenantState(SETTINGS)
    some = events(600, chosen=True)
    for event in some:
        advance(singly, event)
    advance_all(together, some)
    assert singly.digest == together.digest
    assert singly.model.threshold == together.model.threshold
    assert singly.digest != learnt(600).digest, "the weights count"


def test_the_policy_does_not_change_what_is_learnt() -> None:
    with_policy, without = learnt(300), learnt(300, {"algorithm": "cs-sol", "threshold": "auto"})
    assert with_policy.model.threshold == without.model.threshold
    assert (with_policy.model.scalars == without.model.scalars).all()


def test_settings_of_a_tenant_without_a_policy_are_stored_as_before() -> None:
    assert not {name for name in TenantState().config.stored if name.startswith("review")}


@pytest.mark.parametrize("label", [1, -1])
def test_an_error_near_the_threshold_is_expected_to_cost_more(label: int) -> None:
    state = learnt(600)
    near, far = (state.model.threshold + label * by for by in (0.01, 1.5))
    assert state.expected_cost(near, label) > state.expected_cost(far, label) >= 0.0


def test_new_tenants_have_a_policy() -> None:
    assert TenantState(settings_of_new_tenants()).policy is not None
    assert TenantState().policy is None
