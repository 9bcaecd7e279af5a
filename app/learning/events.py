"""The events of a tenant, and their effects. Its log is a sequence of events, and its state a function of the log."""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from app.learning.config import Value
from app.learning.example import Example


@dataclass(frozen=True, slots=True)
class TenantConfigured:
    """Settings were changed; the others keep their values."""

    changes: Mapping[str, Value]


class Served(msgspec.Struct, frozen=True):
    """The verdict that /predict served for the example; the model may have learnt since."""

    label: int
    score: float


class ReplacedLabel(msgspec.Struct, frozen=True, array_like=True):
    """The earlier label of a prediction, which a second one replaced."""

    version: int
    label: int
    feedback_id: str | None = None
    moderator: str | None = None


class FeedbackGiven(msgspec.Struct, frozen=True):
    """A label was given for an example: 1 for an anomaly, -1 for normal.

    `chosen_with` is the probability with which the review policy chose the prediction, if it did.
    """

    example: Example
    label: int
    served: Served | None = None
    replaces: ReplacedLabel | None = None
    chosen_with: float | None = None


@dataclass(frozen=True, slots=True)
class FeaturesRemoved:
    """Features with negligible weight and evidence were removed."""

    weight_at_most: float
    evidence_at_most: float


@dataclass(frozen=True, slots=True)
class LabelRetracted:
    """A label that a later event takes back. Nothing is learnt from it, but names that only it has are kept."""

    example: Example


@dataclass(frozen=True, slots=True)
class RetractionMade:
    """Earlier labels were taken back: the state is as if they had never stood. `labels` are hashes of their events.

    Labels that one of these had replaced may stand again: `restores`. The event changes nothing by itself: in a replay
    of the log, LabelRetracted takes the place of each label that does not stand at its end.
    """

    labels: frozenset[bytes]
    restores: frozenset[bytes] = frozenset()


Event = TenantConfigured | FeedbackGiven | FeaturesRemoved | LabelRetracted | RetractionMade


class Outcome(msgspec.Struct, frozen=True):
    """The effect of an event. For feedback, score and verdict are those just before learning.

    `refused` says why the event changed nothing.
    """

    version: int
    updated: bool
    score: float | None = None
    predicted: int | None = None
    loss: float | None = None
    removed: int = 0
    refused: str | None = None
    replaced: ReplacedLabel | None = None
