"""The drift that a state reports, and how snapshots store it."""

from dataclasses import FrozenInstanceError
from typing import Any

import msgspec
import numpy as np
import pytest

from app.learning.drift import ClassDrift, Drift, decode_detectors, encode_detectors
from app.learning.errors import BadSnapshot
from app.learning.events import FeedbackGiven
from app.learning.example import example_of
from app.learning.prequential import Prequential
from app.learning.replay import advance_all, replay
from app.learning.snapshot.model_file import decode, dump, encode, load
from app.learning.snapshot.state_copy import copy_state
from app.learning.state import TenantState, apply
from kernels.arrays import Floats
from kernels.evaluation import drift as place
from tests.learning.logs import random_log

NOTHING = ClassDrift(worse=0, better=0, labels=0, error=None, last_worse_at=None)


def verdicts(seed: int, rates: list[float], length: int) -> tuple[Floats, Floats]:
    """Labels and scores; anomalies are missed at a rate for each part, one in ten normal examples is a false alarm."""
    rng = np.random.default_rng(seed)
    labels = rng.choice([1.0, -1.0], len(rates) * length)
    missed = np.repeat(rates, length)
    wrong = rng.random(labels.size) < np.where(labels > 0.0, missed, 0.1)
    return labels, np.where(wrong, -labels, labels)


def recorded(labels: Floats, scores: Floats) -> Prequential:
    prequential = Prequential()
    prequential.record(labels, scores, 0.0)
    return prequential


def flipped(cut: int, length: int) -> list[FeedbackGiven]:
    """A feature that means an anomaly, and from `cut` on a normal example."""
    return [
        FeedbackGiven(example_of({"a" if i % 2 else "b": 1.0}), 1 if (i < cut) == (i % 2) else -1)
        for i in range(length)
    ]


def test_a_new_state_has_no_drift() -> None:
    assert TenantState().drift == Drift(anomaly=NOTHING, normal=NOTHING)


def test_drift_is_immutable() -> None:
    with pytest.raises(FrozenInstanceError):
        TenantState().drift.anomaly.worse = 1  # type: ignore[misc]  # frozen


def test_only_the_class_whose_error_rate_rose_has_changed_to_the_worse() -> None:
    drift = recorded(*verdicts(1, [0.02, 0.3], 4000)).drift
    assert drift.anomaly.worse >= 1
    assert drift.anomaly.last_worse_at is not None
    assert 4000 < drift.anomaly.last_worse_at < 5000
    assert (drift.normal.worse, drift.normal.better, drift.normal.last_worse_at) == (0, 0, None)


def test_labels_and_error_are_those_of_the_current_window() -> None:
    labels, scores = verdicts(2, [0.02], 1000)
    found = recorded(labels, scores)
    assert found.drift.anomaly.labels == found.lifetime.positives
    assert found.drift.anomaly.error == found.lifetime.false_negatives / found.lifetime.positives
    assert found.drift.normal.error == found.lifetime.false_positives / found.lifetime.negatives


def test_one_class_alone_leaves_the_other_undefined() -> None:
    drift = recorded(np.ones(3), np.array([1.0, -1.0, -1.0])).drift
    assert (drift.anomaly.labels, drift.anomaly.error) == (3, 2 / 3)
    assert drift.normal == NOTHING


def test_one_by_one_finds_the_same_changes_as_a_batch() -> None:
    labels, scores = verdicts(3, [0.02, 0.5, 0.1], 700)
    singly = Prequential()
    for label, score in zip(labels.tolist(), scores.tolist(), strict=True):
        singly.record_one(label, score, 0.0)
    assert singly.drift.anomaly.worse >= 1
    assert singly.detectors.tobytes() == recorded(labels, scores).detectors.tobytes()


def test_a_state_finds_drift_one_by_one_and_in_batches() -> None:
    log = flipped(1000, 2000)
    singly, together = replay(log), TenantState()
    advance_all(together, log)
    assert singly.drift == together.drift
    assert singly.digest == together.digest
    assert singly.drift.anomaly.worse >= 1
    assert singly.drift.anomaly.last_worse_at is not None
    assert singly.drift.anomaly.last_worse_at > 1000


def test_the_digest_covers_the_detectors() -> None:
    state = replay(random_log(1))
    before = state.digest
    state.prequential.detectors[place.ANOMALY, place.WORSE] += 1
    assert state.digest != before


def test_a_restored_state_continues_in_the_middle_of_a_change() -> None:
    log = flipped(500, 800)
    for cut in (490, 520, 560):
        restored = load(b"".join(dump(replay(log[:cut]))))
        assert restored.drift == replay(log[:cut]).drift
        assert replay(log[cut:], onto=restored).digest == replay(log).digest


def test_a_copy_keeps_the_drift_at_its_time() -> None:
    state = replay(flipped(100, 200))
    before, copy = state.drift, copy_state(state)
    apply(state, FeedbackGiven(example_of({"a": 1.0}), label=1))
    assert copy.counts.drift == before != state.drift


def older(state: TenantState) -> tuple[bytes, Any]:
    """A snapshot from before there were detectors: they have no observations, and the header has no field."""
    state.prequential.detectors[:] = 0
    header, chunk_bytes = encode(copy_state(state))
    fields = msgspec.json.decode(header)
    assert fields.pop("drift") == []
    return msgspec.json.encode(fields), chunk_bytes


def test_a_snapshot_from_before_there_were_detectors_keeps_its_digest() -> None:
    header, chunk_bytes = older(replay(random_log(2)))
    restored = decode(header, chunk_bytes)
    assert restored.digest == msgspec.json.decode(header)["digest"]
    assert restored.prequential.lifetime.examples > 0
    assert restored.drift == Drift(NOTHING, NOTHING)


def test_after_such_a_snapshot_the_detectors_begin_with_what_is_learnt_next() -> None:
    restored = decode(*older(replay(random_log(2))))
    apply(restored, FeedbackGiven(example_of({"a": 1.0}), label=1))
    assert (restored.drift.anomaly.labels, restored.drift.normal.labels) == (1, 0)
    assert load(b"".join(dump(restored))).digest == restored.digest


def test_encoded_detectors_can_be_decoded() -> None:
    detectors = recorded(*verdicts(4, [0.02, 0.4], 900)).detectors
    assert decode_detectors(encode_detectors(detectors)).tobytes() == detectors.tobytes()


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (place.LABELS, 7),
        (place.ERRORS, -1),
        (place.HISTOGRAM, 6),
        (place.HISTOGRAM, -1),
        (place.HISTOGRAM, 2**40),
        (place.HISTOGRAM + 1, 2),
        (place.HISTOGRAM + 1, -1),
        (place.SIZE - 1, 1),
    ],
)
def test_inconsistent_detectors_are_refused(where: int, value: int) -> None:
    detectors = recorded(*verdicts(5, [0.1], 100)).detectors
    detectors[place.NORMAL, where] = value
    with pytest.raises(ValueError, match="inconsistent"):
        decode_detectors(detectors.tolist())


@pytest.mark.parametrize(
    "drift", [[[1]], [[0] * place.SIZE], [[], []], [[0] * 3] * 2, [[2**70] * place.SIZE] * 2, [["a"]], 1]
)
def test_a_snapshot_with_impossible_detectors_is_refused(drift: object) -> None:
    header, chunk_bytes = encode(copy_state(replay(random_log(3))))
    with pytest.raises(BadSnapshot):
        decode(msgspec.json.encode(msgspec.json.decode(header) | {"drift": drift}), chunk_bytes)
