"""A tenant's state, and the one function that changes it: apply(state, event)."""

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, groupby, islice
from typing import assert_never

import msgspec
import numpy as np

from app.learning.config import Config, Value, config_of
from app.learning.drift import Drift
from app.learning.errors import BadExample, SluiceError
from app.learning.events import (
    Event,
    FeaturesRemoved,
    FeedbackGiven,
    LabelRetracted,
    Outcome,
    RetractionMade,
    TenantConfigured,
)
from app.learning.example import Example, Examples, in_csr
from app.learning.honest.counts import NO_TARGET, Reviews, chosen_labels, reviews_of
from app.learning.model import Model
from app.learning.names import Names
from app.learning.numbers import NONE_GIVEN
from app.learning.prequential import Confusion, Prequential, objective_of
from kernels.arrays import Floats, Ints, Keys
from kernels.evaluation import calibration
from kernels.evaluation.skill import NO_SKILL, skill

LABELS = frozenset({1, -1})
BATCH_EVENTS = 4096  # feedback events learnt in one kernel call
NONE = np.empty(0, np.int64)


class TenantState:
    """Everything that is derived from a tenant's log."""

    def __init__(self, settings: Mapping[str, Value] | None = None) -> None:
        self.config = config_of(settings or {})
        self.model = Model(self.config)
        self.prequential = Prequential()
        self.names = Names()
        self.version = 0
        self._probabilities: list[float] | None = None  # until the next label
        self._skill: int | None = None
        self._calibrate(is_new=True)

    def predict(self, example: Example) -> tuple[float, int]:
        """Return score and verdict, without learning."""
        score = self.model.score_alone(example)
        return score, 1 if score > self.model.threshold else -1

    def predict_all(self, examples: Examples) -> list[tuple[float, int]]:
        """Predict several examples in one kernel call; BadExample if any of them is refused."""
        threshold = self.model.threshold
        return [(score, 1 if score > threshold else -1) for score in self.model.score_all(examples).tolist()]

    def verdict(self, score: float) -> int:
        """Return 1 above the threshold, else -1: a tie is normal, because anomalies are rare."""
        return 1 if score > self.model.threshold else -1

    def learn(self, event: FeedbackGiven) -> Outcome:
        """Test, then train."""
        if refusal := self.refusal(event):
            raise BadExample(refusal)
        score = self.model.learn(event.example, event.label)
        verdict = self.verdict(score)
        self.prequential.record_one(float(event.label), score, self.model.threshold)
        if self._has_target or event.chosen_with is not None:
            self.prequential.honest.record_one(event, score, self.model.threshold)
        self.use_threshold()
        if event.served is not None or event.example.names:
            self._record([event])
        loss = self.model.loss(event.label * score)
        return Outcome(self.version + 1, self.model.updated, score, verdict, loss, replaced=event.replaces)

    def learn_all(self, events: Sequence[FeedbackGiven]) -> tuple[Floats, Floats]:
        """Learn many events in one kernel call, with the same result as one by one; refused events only count.

        Return the scores of the others before learning, and the threshold that was in force for each.
        """
        accepted = [event for event in events if self.refusal(event) is None]
        self.version += len(events) - len(accepted)
        if not accepted:
            return np.empty(0), np.empty(0)
        starts, keys = in_csr([event.example.keys for event in accepted])
        values = np.concatenate([event.example.values for event in accepted])
        labels = np.array([event.label for event in accepted], np.float64)
        is_encoded = self.model.numbers is not None
        given = np.array([event.example.given for event in accepted]) if is_encoded else NONE_GIVEN
        reviews = reviews_of(accepted) if self._has_target or chosen_labels(accepted) else None
        tested = self.learn_batch(starts, keys, values, labels, given, reviews=reviews)
        self._record([event for event in accepted if event.served is not None or event.example.names])
        return tested

    def learn_batch(  # noqa: PLR0913 - a batch as the kernels take it, and what is known beside it
        self,
        starts: Ints,
        keys: Keys,
        values: Floats,
        labels: Floats,
        given: Ints = NONE_GIVEN,
        *,
        reviews: Reviews | None = None,
    ) -> tuple[Floats, Floats]:
        """Learn a batch in CSR form, in order; example i begins with `given[i]` features that its caller gave.

        `reviews` says what was served, if it is known, and which of the items the review policy chose. Return the
        scores before learning, and the threshold that was in force for each.
        """
        canonical = self.model.canonical(starts, keys, values, given, learning=True)
        scores = self.model.stream(*canonical, labels)
        if reviews is None and self._has_target:
            reviews = Reviews.unknown(labels.size)
        thresholds = self.prequential.record(labels, scores, self.config.threshold, reviews)
        self.use_threshold()
        self.version += labels.size
        return scores, thresholds

    def use_threshold(self) -> None:
        """Put the learnt threshold in force, if that is configured, and judge again when asked."""
        if self._learns_threshold:
            wanted = self.prequential.honest.threshold if self._has_target else None
            self.model.threshold = self.prequential.best_threshold if wanted is None else wanted
        self._probabilities = self._skill = None

    def probability(self, score: float) -> float | None:
        """Return how likely an input with this score is an anomaly; None if it is not known.

        It supposes that anomalies are as frequent among all inputs as among those that were labelled lately.
        """
        histograms = self.prequential.histograms
        if histograms is None or math.isnan(score):
            return None
        table = self._probabilities
        if table is None:
            table = self._probabilities = calibration.probability_table(histograms)
        if not table:
            return None
        return calibration.interpolated(table, score / histograms.item(calibration.SCALE))

    def reconfigure(self, event: TenantConfigured) -> Outcome:
        """Change settings."""
        return Outcome(self.version + 1, updated=self.configure(self.config.changed(event.changes)))

    def configure(self, config: Config) -> bool:
        """Continue under a configuration. If the learnt state has no meaning under it, start a new model: True."""
        self.config = config
        is_new = not self.model.can_become(config)
        if is_new:
            self.model = Model(config)
        else:
            self.model.configure(config)
        self._calibrate(is_new=is_new)
        return is_new

    def _calibrate(self, *, is_new: bool) -> None:
        """Follow the objective: begin or end to keep histograms of scores, which have no meaning for a new model."""
        counts = self.prequential
        self._learns_threshold = self.config.threshold is None
        self._has_target = self.config.target != NO_TARGET
        counts.objective = objective_of(self.config) if self.config.is_calibrated else None
        if counts.objective is None:
            counts.histograms = None
        elif is_new or counts.histograms is None:
            counts.histograms = calibration.new_calibration()
        else:
            counts.histograms[calibration.CHANGED] = calibration.CHANGE  # choose again at the next label
        counts.honest.follow(self.config.target, is_new=is_new)
        self.use_threshold()

    def remove(self, event: FeaturesRemoved) -> Outcome:
        """Remove negligible features."""
        removed = self.model.remove(event.weight_at_most, event.evidence_at_most)
        return Outcome(self.version + 1, updated=removed > 0, removed=removed)

    def unnamed(self, keys: Keys) -> Ints:
        """Return the indices of the keys that need a name in the log; none if the model accepts no new features.

        The log omits the other names: every name in an event is kept.
        """
        if self.model.features >= self.config.values["max_features"]:  # type: ignore[operator]  # an int, by RULES
            return NONE
        return self.names.unknown(keys)

    @property
    def skill(self) -> int:
        """Whether the verdicts are better than chance: a code of `kernels/evaluation/skill.py`."""
        if self._skill is None:
            self._skill = skill(self.prequential.detectors)
        return self._skill

    @property
    def is_poor(self) -> bool:
        """Whether the verdicts are no better than chance, after enough labels."""
        return self.skill == NO_SKILL

    @property
    def served(self) -> Confusion:
        """Served verdicts against the labels that came later."""
        return self.prequential.served

    @property
    def drift(self) -> Drift:
        """Changes in the error rate of a class."""
        return self.prequential.drift

    @property
    def bytes(self) -> int:
        """Memory of table, matrix and names."""
        return self.model.bytes + self.names.nbytes + self.prequential.nbytes

    @property
    def digest(self) -> str:
        """A hash of configuration, counts and sorted rows: equal for equal logs, on every machine."""
        numbers = [self.model.numbers.rows()] if self.model.numbers is not None else []
        learnt = chain([self.model.scalars], self.model.rows(), [self.model.dense_in_use], numbers)
        return compute_digest(self.version, self.config, self.prequential, learnt)

    def refusal(self, event: FeedbackGiven) -> str | None:
        """Return why feedback cannot be learnt, or None."""
        if event.label not in LABELS:
            return f"label is {event.label!r}; it must be 1 (anomaly) or -1 (normal)"
        if event.served is not None and event.served.label not in LABELS:
            return f"the served label is {event.served.label!r}; it must be 1 (anomaly) or -1 (normal)"
        return self.model.refusal(event.example.values)

    def _record(self, events: Sequence[FeedbackGiven]) -> None:
        """Record the served verdicts and the names in feedback events."""
        self.prequential.record_served([(event.label, event.served.label) for event in events if event.served])
        named = [event.example for event in events if event.example.names]
        if len(named) > 1:  # one lookup for all finds the few examples with new names
            starts, keys = in_csr([example.keys for example in named])
            new = np.searchsorted(starts, self.names.unknown(keys), side="right") - 1
            named = [named[i] for i in dict.fromkeys(new.tolist())]
        for example in named:
            self.names.remember(example.keys, example.names)


def apply(state: TenantState, event: Event) -> Outcome:
    """Change the state by one event; raise SluiceError and change nothing if the event is invalid."""
    match event:
        case FeedbackGiven():
            outcome = state.learn(event)
        case TenantConfigured():
            outcome = state.reconfigure(event)
        case FeaturesRemoved():
            outcome = state.remove(event)
        case LabelRetracted() | RetractionMade():
            if isinstance(event, LabelRetracted) and event.example.names:
                state.names.remember(event.example.keys, event.example.names)
            outcome = Outcome(state.version + 1, updated=False)
        case _:
            assert_never(event)
    state.version += 1
    return outcome


def advance(state: TenantState, event: Event) -> Outcome:
    """Apply an event of the log. A refused event only advances the version: every replica skips it in the same way."""
    try:
        return apply(state, event)
    except SluiceError as refusal:
        state.version += 1
        return Outcome(state.version, updated=False, refused=str(refusal))


def advance_all(state: TenantState, events: Iterable[Event]) -> None:
    """Advance by many events: bit for bit the same as one by one, and several times faster."""
    for is_feedback, run in groupby(events, lambda event: isinstance(event, FeedbackGiven)):
        if is_feedback:
            while batch := list(islice(run, BATCH_EVENTS)):
                state.learn_all(batch)  # type: ignore[arg-type]  # groupby selects FeedbackGiven
        else:
            for event in run:
                advance(state, event)


def replay(events: Iterable[Event], onto: TenantState | None = None) -> TenantState:
    """Apply events in order, to a given state or from the beginning."""
    state = TenantState() if onto is None else onto
    for event in events:
        apply(state, event)
    return state


def compute_digest(version: int, config: Config, counts: Prequential, learnt: Iterable[Floats]) -> str:
    """Hash configuration, counts, and the learnt arrays: scalars, rows in their order, matrix, statistics."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(msgspec.json.encode([version, config.stored], order="deterministic"))
    for array in counts.arrays():
        digest.update(array.data)
    for array in learnt:
        digest.update(np.ascontiguousarray(array).reshape(-1).data)
    return digest.hexdigest()
