"""A learnt threshold and probabilities as part of a tenant's state."""

import numpy as np
import pytest

from app.learning.config import Value
from app.learning.events import Event, FeedbackGiven, TenantConfigured
from app.learning.example import example_of
from app.learning.replay import advance_all, replay
from app.learning.snapshot.evaluation import decode_histograms
from app.learning.snapshot.model_file import dump, load
from app.learning.state import TenantState, advance
from kernels.evaluation import calibration as kernel
from kernels.registry import ALGORITHMS

AUTO: dict[str, Value] = {"threshold": "auto"}


def events(count: int, seed: int = 0, share: float = 0.2) -> list[Event]:
    rng = np.random.default_rng(seed)
    return [labelled(1 if rng.random() < share else -1, rng) for _ in range(count)]


def labels_in(state: TenantState) -> int:
    histograms = state.prequential.histograms
    return 0 if histograms is None else int(histograms[kernel.SEEN : kernel.WEIGHT].sum())


def labelled(label: int, rng: np.random.Generator) -> FeedbackGiven:
    features = {f"f{k}": 1.0 for k in rng.integers(0, 40, 6).tolist()}
    hint = {"risky": 1.0} if rng.random() < (0.8 if label > 0 else 0.1) else {}
    return FeedbackGiven(example_of(features | hint), label)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_batches_replay_and_snapshots_give_the_same_state(algorithm: str) -> None:
    given = [TenantConfigured({"algorithm": algorithm, **AUTO}), *events(300)]
    state = replay(given)
    assert state.model.threshold == state.prequential.best_threshold != 0.0
    at_once = TenantState()
    advance_all(at_once, given)
    loaded = load(b"".join(dump(replay(given[:150]))))
    advance_all(loaded, given[150:])
    assert at_once.digest == loaded.digest == state.digest
    assert at_once.model.threshold == loaded.model.threshold == state.model.threshold
    assert loaded.prequential.lifetime == at_once.prequential.lifetime == state.prequential.lifetime


def test_a_label_is_tested_with_the_threshold_before_it() -> None:
    state = TenantState(AUTO)
    for event in events(200):
        before = state.model.threshold
        outcome = advance(state, event)
        assert outcome.score is not None
        assert outcome.predicted == (1 if outcome.score > before else -1)


def test_a_learnt_threshold_is_better_than_0_where_anomalies_are_rare() -> None:
    given = events(4000, share=0.03)
    fixed, learnt = TenantState({"algorithm": "cs-sol"}), TenantState({"algorithm": "cs-sol", **AUTO})
    for state in (fixed, learnt):
        advance_all(state, given)
    assert learnt.prequential.recent.balanced_accuracy > fixed.prequential.recent.balanced_accuracy + 0.1  # type: ignore[operator]


def test_without_an_objective_nothing_is_kept_and_the_digest_is_as_before() -> None:
    state = replay(events(50))
    assert state.prequential.histograms is None
    assert state.probability(0.5) is None


def test_an_objective_begins_to_count_when_it_is_set_and_ends_when_it_is_taken_back() -> None:
    state = replay([*events(100), TenantConfigured({"objective": "balanced"}), *events(60, seed=1)])
    assert labels_in(state) == 60
    assert state.model.threshold == 0.0
    advance(state, TenantConfigured(AUTO))
    assert state.model.threshold == state.prequential.best_threshold != 0.0
    advance(state, TenantConfigured({"threshold": 0.5, "objective": None}))
    assert labels_in(state) == 0
    assert state.model.threshold == 0.5


def test_another_objective_keeps_the_scores_and_moves_the_threshold_at_the_next_label() -> None:
    state = replay([TenantConfigured(AUTO), *events(800, share=0.03)])
    before = state.model.threshold
    advance(state, TenantConfigured({"objective": "error"}))
    advance_all(state, events(1, seed=5, share=0.0))
    assert state.model.threshold > before


def test_another_algorithm_starts_the_scores_again() -> None:
    state = replay([TenantConfigured(AUTO), *events(100), TenantConfigured({"algorithm": "fsol"})])
    assert state.model.threshold == 0.0
    assert (state.prequential.histograms == kernel.new_calibration()).all()  # type: ignore[union-attr]


def test_a_probability_is_given_once_there_are_labels_enough() -> None:
    state = TenantState(AUTO)
    rng = np.random.default_rng(3)
    for number in range(2 * kernel.LEAST_LABELS):
        assert state.probability(0.1) is None, number
        advance(state, labelled(1 if number % 2 else -1, rng))
    low, high = state.probability(-1.0), state.probability(1.0)
    assert low is not None
    assert high is not None
    assert 0.0 <= low < 0.4
    assert 0.6 < high <= 1.0
    assert state.probability(1e300) >= high  # type: ignore[operator]
    assert state.probability(float("-inf")) <= low  # type: ignore[operator]
    assert state.probability(float("nan")) is None


def test_probabilities_never_fall_with_the_score() -> None:
    state = replay([TenantConfigured(AUTO), *events(500)])
    found = [state.probability(score) for score in np.linspace(-3.0, 3.0, 500).tolist()]
    assert found == sorted(found)  # type: ignore[type-var]


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (kernel.SCALE, 0.0), (kernel.SCALE, 3.0), (kernel.SCALE, np.nan), (kernel.WEIGHT, 0.0), (kernel.WEIGHT, 1e200),
        (kernel.THRESHOLD, np.inf), (kernel.SEEN, -1.0), (kernel.MASS, -1.0), (kernel.HEAD, -1.0),
    ],
)  # fmt: skip
def test_a_damaged_calibration_is_refused(place: int, value: float) -> None:
    data = kernel.new_calibration()
    assert (decode_histograms(data.tobytes()) == data).all()
    data[place] = value
    with pytest.raises(ValueError, match="calibration"):
        decode_histograms(data.tobytes())
    with pytest.raises(ValueError, match="calibration"):
        decode_histograms(data.tobytes()[8:])
