"""Honest figures, curves and targets as part of a tenant's state."""

import msgspec
import numpy as np
import pytest

from app.learning.config import Value
from app.learning.errors import BadSetting
from app.learning.events import Event, FeedbackGiven, LabelRetracted, Served, TenantConfigured
from app.learning.example import example_of
from app.learning.honest.curve import curve_of, target_of
from app.learning.honest.figures import HonestRates, figures
from app.learning.prequential import HonestCounts
from app.learning.replay import advance_all, replay
from app.learning.snapshot.evaluation import decode_honest, encode_honest
from app.learning.snapshot.model_file import dump, load
from app.learning.state import TenantState, apply
from kernels.evaluation import curve, honest

TARGET: dict[str, Value] = {"target": "false_positive_rate", "target_value": 0.05}


def labels(count: int, seed: int = 0, *, chosen: bool = True) -> list[Event]:
    rng = np.random.default_rng(seed)
    return [label(rng, number, chosen=chosen and rng.random() < 0.7) for number in range(count)]


def label(rng: np.random.Generator, number: int, *, chosen: bool) -> FeedbackGiven:
    is_anomaly = rng.random() < 0.2
    features = {f"f{k}": 1.0 for k in rng.integers(0, 40, 6).tolist()}
    hint = {"risky": 1.0} if rng.random() < (0.8 if is_anomaly else 0.1) else {}
    score = float(rng.normal(0.5 if is_anomaly else -0.5, 0.4))
    return FeedbackGiven(
        example_of(features | hint),
        1 if is_anomaly else -1,
        Served(1 if score > 0 else -1, score),
        chosen_with=float(rng.choice([0.02, 0.3, 1.0])) if chosen else None,
        served_at_milliseconds=60_000 * number if chosen else None,
    )


def without_choice(events: list[Event]) -> list[Event]:
    return [
        msgspec.structs.replace(event, chosen_with=None) if isinstance(event, FeedbackGiven) else event
        for event in events
    ]


def ever(state: TenantState) -> HonestRates:
    return figures(state.prequential.honest).ever


@pytest.mark.parametrize("settings", [{"threshold": "auto"}, {"threshold": 0.1}, TARGET])
def test_batches_replay_and_snapshots_give_the_same_state(settings: dict[str, Value]) -> None:
    given = [TenantConfigured(settings), *labels(200, chosen=False), *labels(400)]
    state = replay(given)
    at_once = TenantState()
    advance_all(at_once, given)
    loaded = load(b"".join(dump(replay(given[:350]))))
    advance_all(loaded, given[350:])
    assert at_once.digest == loaded.digest == state.digest
    assert at_once.model.threshold == loaded.model.threshold == state.model.threshold
    assert figures(loaded.prequential.honest) == figures(state.prequential.honest)
    assert loaded.prequential.lifetime == at_once.prequential.lifetime == state.prequential.lifetime


def test_without_a_chosen_item_digest_and_snapshot_are_those_of_before() -> None:
    state = replay(labels(100, chosen=False))
    assert state.prequential.honest == HonestCounts()
    assert b"honest" not in b"".join(dump(state))


def test_a_target_leaves_nothing_when_it_ends() -> None:
    state = TenantState({"threshold": "auto"})
    before = state.config.stored
    apply(state, TenantConfigured(TARGET))
    assert state.config.stored == before | TARGET
    apply(state, TenantConfigured({"target": None}))
    assert state.config.stored == before
    assert state.prequential.honest == HonestCounts()


def test_a_label_that_is_taken_back_leaves_nothing() -> None:
    given = labels(200)
    taken = [LabelRetracted(event.example) if n % 5 == 0 else event for n, event in enumerate(given)]  # type: ignore[union-attr]
    kept = [event for n, event in enumerate(given) if n % 5]
    assert np.array_equal(replay(taken).prequential.honest.sums, replay(kept).prequential.honest.sums)  # type: ignore[arg-type]


def test_figures_are_weighted_by_how_the_items_were_chosen() -> None:
    example = example_of({"a": 1.0})
    seen = [(1, 1, 1.0)] * 8 + [(1, -1, 0.1)] + [(-1, -1, 0.1)] * 9 + [(-1, 1, 1.0)] * 10
    state = replay([FeedbackGiven(example, y, Served(v, 0.1 * v), chosen_with=p) for y, v, p in seen])
    found = ever(state)
    assert found.labels == 28
    assert found.items == pytest.approx(118)
    assert found.sensitivity.value == pytest.approx(8 / 18)
    assert found.specificity.value == pytest.approx(90 / 100)
    assert found.balanced_accuracy.value == pytest.approx(0.5 * (8 / 18 + 0.9))
    assert found.precision.value == pytest.approx(8 / 18)
    assert found.flagged.value == pytest.approx(18 / 118)
    assert found.sensitivity.labels == pytest.approx(18**2 / (8 + 100))
    for rate in (found.balanced_accuracy, found.sensitivity, found.specificity, found.precision, found.flagged):
        assert 0.0 <= rate.low <= rate.value <= rate.high <= 1.0  # type: ignore[operator]


def test_what_cannot_be_known_says_why() -> None:
    state = TenantState()
    assert ever(state).balanced_accuracy.reason == "no label of a chosen item yet"
    apply(state, FeedbackGiven(example_of({"a": 1.0}), -1, Served(-1, -0.5), chosen_with=0.5))
    assert ever(state).balanced_accuracy.value is None
    assert ever(state).balanced_accuracy.reason == "no anomaly among the labels of chosen items yet"
    assert ever(state).specificity.value == 1.0
    assert ever(state).precision.reason == "no flagged item among the labels of chosen items yet"


def test_a_choice_without_a_served_verdict_counts_for_nothing() -> None:
    state = replay([FeedbackGiven(example_of({"a": 1.0}), 1, chosen_with=0.5)])
    assert state.prequential.honest == HonestCounts()


def test_lately_follows_a_change() -> None:
    rng = np.random.default_rng(1)
    example = example_of({"a": 1.0})
    given = [
        FeedbackGiven(example, -1, Served(-1 if rng.random() < right else 1, 0.0), chosen_with=0.5)
        for right in (0.9, 0.4)
        for _ in range(4000)
    ]
    state = TenantState()
    advance_all(state, given)
    lately = figures(state.prequential.honest).lately
    assert ever(state).specificity.value == pytest.approx(0.65, abs=0.02)
    assert lately.specificity.low < 0.4 < lately.specificity.high  # type: ignore[operator]
    assert lately.specificity.value == pytest.approx(0.4, abs=0.05)


def test_a_target_determines_the_threshold_once_there_are_labels_enough() -> None:
    state = TenantState({"threshold": "auto", **TARGET})
    advance_all(state, labels(20))
    found = target_of(state)
    assert found is not None
    assert not found.followed
    assert "30 of each class" in (found.reason or "")
    advance_all(state, labels(400, seed=1))
    found = target_of(state)
    assert found is not None
    assert found.followed
    assert state.model.threshold == state.prequential.honest.threshold


def test_a_new_target_is_in_force_at_once() -> None:
    state = replay([TenantConfigured({"threshold": "auto"}), *labels(400)])
    before = state.model.threshold
    apply(state, TenantConfigured({"target": "sensitivity", "target_value": 0.99}))
    lenient = state.model.threshold
    apply(state, TenantConfigured({"target": "sensitivity", "target_value": 0.2}))
    assert lenient < state.model.threshold
    apply(state, TenantConfigured({"target": None}))
    assert state.model.threshold == before


def test_a_number_as_the_threshold_ends_a_target_and_a_target_makes_it_auto() -> None:
    state = TenantState({"threshold": 0.3})
    apply(state, TenantConfigured(TARGET))
    assert state.config.threshold is None
    apply(state, TenantConfigured({"threshold": 0.2}))
    assert target_of(state) is None
    assert state.model.threshold == 0.2


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        (TARGET | {"threshold": 0.5}, "a target determines the threshold"),
        ({"target": "sensitivity"}, "must be set together"),
        ({"target_value": 0.5}, "must be set together"),
        ({"target": "recall", "target_value": 0.5}, "target is 'recall'"),
        ({"target": "precision", "target_value": 1.0}, "a number from 0.000001 to 0.999999"),
        ({"target": "precision", "target_value": float("nan")}, "target_value is nan"),
        ({"target": "reviews_per_day", "target_value": 0.001}, "a number from 0.01"),
    ],
)
def test_a_target_that_makes_no_sense_is_refused(settings: dict[str, Value], problem: str) -> None:
    with pytest.raises(BadSetting, match=problem):
        TenantState({"threshold": "auto"} | settings)


def test_another_algorithm_keeps_the_figures_and_starts_the_scores_again() -> None:
    given = [TenantConfigured({"threshold": "auto", **TARGET}), *labels(300)]
    state = replay([*given, TenantConfigured({"algorithm": "fsol"})])
    assert ever(state) == ever(replay(given))
    assert target_of(state) is not None
    assert state.prequential.honest.is_weighted
    assert curve_of(state, 10).points == curve_of(TenantState({"threshold": "auto"}), 10).points is None


def test_reviews_per_day_follows_the_rate_of_items() -> None:
    state = TenantState({"threshold": "auto", "target": "reviews_per_day", "target_value": 2000.0})
    example = example_of({"a": 1.0})
    rng = np.random.default_rng(2)
    for minute in range(3000):  # an item is chosen each minute, with probability 0.1: 14,400 items a day
        score = float(rng.random())
        verdict = 1 if score > state.model.threshold else -1
        event = FeedbackGiven(
            example, -1, Served(verdict, score), chosen_with=0.1, served_at_milliseconds=60_000 * minute
        )
        apply(state, event)
    assert state.model.threshold == pytest.approx(1.0 - 2000 / 14_400, abs=0.03)
    found = target_of(state)
    assert found is not None
    assert found.realised.value == pytest.approx(2000, rel=0.15)


def test_a_curve_is_weighted_if_it_can_be() -> None:
    weighted = curve_of(replay([TenantConfigured({"threshold": "auto"}), *labels(400)]), 21)
    plain = curve_of(replay([TenantConfigured({"threshold": "auto"}), *without_choice(labels(400))]), 21)
    nothing = curve_of(replay(labels(50, chosen=False)), 21)
    assert (weighted.weighted, plain.weighted, nothing.weighted) == (True, False, False)
    assert nothing.points is None
    assert nothing.reason
    for found in (weighted, plain):
        assert found.points is not None
        assert found.now is not None
        assert 2 <= len(found.points) <= 21
        assert found.now.threshold == pytest.approx(found.threshold)
        for name in ("sensitivity", "flagged"):
            values = [getattr(point, name).value for point in found.points]
            assert values == sorted(values, reverse=True)
            assert values[0] == pytest.approx(1.0)
            assert values[-1] == pytest.approx(0.0)
        for point in found.points:
            for rate in (point.sensitivity, point.specificity, point.flagged):
                assert rate.low - 1e-9 <= rate.value <= rate.high + 1e-9  # type: ignore[operator]


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (curve.SCALE, 3.0), (curve.WEIGHT, 0.0), (curve.IS_SET, 2.0), (curve.LEVEL, 9.0), (curve.MASS, -1.0),
        (curve.THRESHOLD, np.inf), (curve.HEAD, np.nan),
    ],
)  # fmt: skip
def test_damaged_histograms_are_refused(place: int, value: float) -> None:
    counts = HonestCounts(honest.new_sums(), curve.new_curve())
    decode_honest(HonestCounts(), encode_honest(counts))
    assert counts.histograms is not None
    counts.histograms[place] = value
    with pytest.raises(ValueError, match="histograms"):
        decode_honest(HonestCounts(), encode_honest(counts))


def test_damaged_sums_are_refused() -> None:
    for sums in (honest.new_sums() - 1.0, honest.new_sums()[:1], honest.new_sums() + np.inf):
        with pytest.raises(ValueError, match="honest counts"):
            decode_honest(HonestCounts(), encode_honest(HonestCounts(sums)))
    with pytest.raises(ValueError, match="honest counts"):
        decode_honest(HonestCounts(), [b""])


def test_a_tiny_probability_does_no_harm() -> None:
    state = replay([FeedbackGiven(example_of({"a": 1.0}), 1, Served(1, 0.5), chosen_with=5e-324)])
    assert ever(state).sensitivity.value == 1.0
    assert load(b"".join(dump(state))).digest == state.digest
