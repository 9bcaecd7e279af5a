"""A tenant's state, and the one function that changes it: apply(state, event)."""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, groupby, islice
from typing import assert_never

import msgspec
import numpy as np

from app.learning.config import Value, config_of
from app.learning.digest import digest_of
from app.learning.drift import Drift
from app.learning.errors import BadExample, SluiceError
from app.learning.events import Event, FeaturesRemoved, FeedbackGiven, TenantConfigured
from app.learning.example import Example, Examples
from app.learning.model import Model
from app.learning.names import Names
from app.learning.prequential import Confusion, Prequential
from kernels.arrays import Floats, Ints, Keys

LABELS = frozenset({1, -1})
AT_ONCE = 4096  # feedback events that are learnt in one go
NONE = np.empty(0, np.int64)


class Outcome(msgspec.Struct, frozen=True):
    """What an event did. For feedback: score and verdict are of just before learning.

    `refused` is the sentence of why it did nothing.
    """

    version: int
    updated: bool
    score: float | None = None
    predicted: int | None = None
    loss: float | None = None
    removed: int = 0
    refused: str | None = None


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
        score = self.model.score_alone(example)
        return score, 1 if score > self.model.threshold else -1

    def predict_all(self, examples: Examples) -> list[tuple[float, int]]:
        """The same for several examples, in one call of the kernel; BadExample if any of them is refused."""
        threshold = self.model.threshold
        return [(score, 1 if score > threshold else -1) for score in self.model.score_all(examples).tolist()]

    def verdict(self, score: float) -> int:
        """1 above the threshold, else -1: a tie is normal, because anomalies are rare."""
        return 1 if score > self.model.threshold else -1

    def learn(self, event: FeedbackGiven) -> Outcome:
        """Test, then train."""
        if refusal := self._refusal(event):
            raise BadExample(refusal)
        score = self.model.learn(event.example, event.label)
        self.prequential.record_one(float(event.label), score, self.model.threshold)
        if event.served is not None or event.example.names:
            self._note([event])
        loss = self._loss(event.label * score)
        return Outcome(self.version + 1, self.model.updated, score, self.verdict(score), loss)

    def learn_all(self, events: Sequence[FeedbackGiven]) -> None:
        """Learn many: the same as one by one, those that are refused included, but in one call of the kernel."""
        accepted = [event for event in events if self._refusal(event) is None]
        self.version += len(events) - len(accepted)
        if not accepted:
            return
        starts, keys = _in_csr([event.example.keys for event in accepted])
        values = np.concatenate([event.example.values for event in accepted])
        labels = np.array([event.label for event in accepted], np.float64)
        self.learn_batch(starts, keys, values, labels)
        self._note([event for event in accepted if event.served is not None or event.example.names])

    def learn_batch(self, starts: Ints, keys: Keys, values: Floats, labels: Floats) -> Floats:
        """Apply feedback for every example of a batch in CSR form, in order; return their scores from before."""
        canonical = self.model.canonical(starts, keys, values)
        scores = self.model.stream(*canonical, labels)
        self.prequential.record(labels, scores, self.model.threshold)
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

    def unnamed(self, keys: Keys) -> Ints:
        """Which features still need their names, as places in `keys`; none if the model takes in no new features.

        A log need only tell these names: all that an event tells are remembered.
        """
        if self.model.features >= self.config.values["max_features"]:  # type: ignore[operator]  # checked
            return NONE
        return self.names.unknown(keys)

    @property
    def served(self) -> Confusion:
        """How the verdicts that were served met the labels that came later."""
        return self.prequential.served

    @property
    def drift(self) -> Drift:
        """Whether the error rate of a class has changed."""
        return self.prequential.drift

    @property
    def bytes(self) -> int:
        """Memory of table, matrix and names."""
        return self.model.bytes + self.names.nbytes

    @property
    def digest(self) -> str:
        """A hash of configuration, counts and sorted rows: equal for equal logs, on every machine."""
        learnt = chain([self.model.scalars], self.model.rows(), [self.model.dense_in_use])
        return digest_of(self.version, self.config, self.prequential, learnt)

    def _refusal(self, event: FeedbackGiven) -> str | None:
        """Why feedback cannot be learnt; None if it can."""
        if event.label not in LABELS:
            return f"label is {event.label!r}; it must be 1 (anomaly) or -1 (normal)"
        if event.served is not None and event.served.label not in LABELS:
            return f"the label that was served is {event.served.label!r}; it must be 1 (anomaly) or -1 (normal)"
        return self.model.refusal(event.example.values)

    def _note(self, events: Sequence[FeedbackGiven]) -> None:
        """Keep what feedback tells beside examples: verdicts that were served, and names."""
        self.prequential.record_served([(event.label, event.served.label) for event in events if event.served])
        named = [event.example for event in events if event.example.names]
        if len(named) > 1:  # one look for all tells the few with names that are new
            starts, keys = _in_csr([example.keys for example in named])
            new = np.searchsorted(starts, self.names.unknown(keys), side="right") - 1
            named = [named[i] for i in dict.fromkeys(new.tolist())]
        for example in named:
            self.names.remember(example.keys, example.names)

    def _loss(self, margin: float) -> float:
        """Hinge loss, or logistic loss where the algorithm has that."""
        if self.config.algorithm.loss == "logistic":
            return math.log1p(math.exp(-abs(margin))) + max(-margin, 0.0)
        return max(0.0, 1.0 - margin)


def _in_csr(parts: Sequence[Keys]) -> tuple[Ints, Keys]:
    """Where each part begins in all of them together, and where the last one ends; all of them together."""
    starts = np.zeros(len(parts) + 1, np.int64)
    np.cumsum([part.size for part in parts], out=starts[1:])
    return starts, np.concatenate(parts)


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


def advance(state: TenantState, event: Event) -> Outcome:
    """Apply an event of a log. A refused one only counts: whoever reads the log must come past it in the same way."""
    try:
        return apply(state, event)
    except SluiceError as refusal:
        state.version += 1
        return Outcome(state.version, updated=False, refused=str(refusal))


def advance_all(state: TenantState, events: Iterable[Event]) -> None:
    """Advance by many events: the same as one by one, bit for bit, and several times as fast."""
    for is_feedback, run in groupby(events, lambda event: isinstance(event, FeedbackGiven)):
        if is_feedback:
            while some := list(islice(run, AT_ONCE)):
                state.learn_all(some)  # type: ignore[arg-type]  # groupby knows, the checker does not
        else:
            for event in run:
                advance(state, event)


def replay(events: Iterable[Event], onto: TenantState | None = None) -> TenantState:
    """Apply events in order, onto a state or from the beginning."""
    state = TenantState() if onto is None else onto
    for event in events:
        apply(state, event)
    return state
