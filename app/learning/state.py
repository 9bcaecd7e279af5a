"""A tenant's state, and the one function that changes it: apply(state, event)."""

import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import assert_never

import msgspec
import numpy as np

from app.learning.config import Value, config_of
from app.learning.errors import BadExample
from app.learning.events import Event, FeaturesRemoved, FeedbackGiven, TenantConfigured
from app.learning.example import Example
from app.learning.model import Model
from app.learning.names import Names
from app.learning.prequential import Prequential
from kernels import tally as place
from kernels.arrays import Floats, Ints, Keys


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an event did. For feedback: score and verdict are of just before learning."""

    version: int
    updated: bool
    score: float | None = None
    predicted: int | None = None
    loss: float | None = None
    removed: int = 0


class TenantState:
    """Everything that is derived from a tenant's log."""

    def __init__(self, settings: Mapping[str, Value] | None = None) -> None:
        self.config = config_of(settings or {})
        self.model = Model(self.config)
        self.prequential = Prequential()
        self.names = Names()
        self.version = 0

    def predict(self, example: Example) -> tuple[float, int]:
        """Score and verdict, without learning."""
        score, _, _ = self.model.score(example)
        return score, self.verdict(score)

    def verdict(self, score: float) -> int:
        """1 above the threshold, else -1: a tie is normal, because anomalies are rare."""
        return 1 if score > self.config.threshold else -1

    def learn(self, event: FeedbackGiven) -> Outcome:
        """Test, then train."""
        if event.label not in {1, -1}:
            raise BadExample(f"label is {event.label!r}; it must be 1 (anomaly) or -1 (normal)")
        known = self.model.features
        score = self.model.learn(event.example, event.label)
        self.prequential.record(np.array([float(event.label)]), np.array([score]), self.config.threshold)
        if event.example.names and self.model.features > known:
            self.names.remember(event.example.keys.tolist(), event.example.names)
        loss = self._loss(event.label * score)
        return Outcome(self.version + 1, self.model.updated, score, self.verdict(score), loss)

    def learn_batch(self, starts: Ints, keys: Keys, values: Floats, labels: Floats) -> Floats:
        """Apply feedback for every example of a batch in CSR form, in order; return their scores from before."""
        canonical = self.model.canonical(starts, keys, values)
        scores = self.model.stream(*canonical, labels)
        self.prequential.record(labels, scores, self.config.threshold)
        self.version += labels.size
        return scores

    def reconfigure(self, event: TenantConfigured) -> Outcome:
        """Change settings. A model whose state would lose its meaning starts anew; its counts go on."""
        self.config = self.config.changed(event.changes)
        if self.model.can_become(self.config):
            self.model.configure(self.config)
            return Outcome(self.version + 1, updated=False)
        self.model = Model(self.config)
        return Outcome(self.version + 1, updated=True)

    def remove(self, event: FeaturesRemoved) -> Outcome:
        """Forget negligible features."""
        removed = self.model.remove(event.weight_at_most, event.evidence_at_most)
        return Outcome(self.version + 1, updated=removed > 0, removed=removed)

    @property
    def digest(self) -> str:
        """A hash of configuration, counts and sorted rows: equal for equal logs, on every machine."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(msgspec.json.encode([self.version, self.config.values], order="deterministic"))
        for counts in (self.prequential.total, self.prequential.window, self.prequential.faded, self.prequential.ring):
            digest.update(counts.tobytes())
        digest.update(self.model.tally[: place.BITS].tobytes())
        for rows in self.model.rows():
            digest.update(rows.tobytes())
        used = self.model.features if self.model.dense.size else 0
        digest.update(np.ascontiguousarray(self.model.dense[: used + 1, :used]).tobytes())
        return digest.hexdigest()

    def _loss(self, margin: float) -> float:
        """Hinge loss, or logistic loss where the algorithm has that."""
        if getattr(self.config.algorithm, "LOSS", "hinge") == "logistic":
            return math.log1p(math.exp(-abs(margin))) + max(-margin, 0.0)
        return max(0.0, 1.0 - margin)


def apply(state: TenantState, event: Event) -> Outcome:
    """Change the state by one event; refuse (and change nothing) if the event makes no sense."""
    match event:
        case FeedbackGiven():
            outcome = state.learn(event)
        case TenantConfigured():
            outcome = state.reconfigure(event)
        case FeaturesRemoved():
            outcome = state.remove(event)
        case _:
            assert_never(event)
    state.version += 1
    return outcome


def replay(events: Iterable[Event], onto: TenantState | None = None) -> TenantState:
    """Apply events in order, onto a state or from the beginning."""
    state = TenantState() if onto is None else onto
    for event in events:
        apply(state, event)
    return state
