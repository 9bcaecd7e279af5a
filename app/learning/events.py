"""What can happen to a tenant. Its log is a sequence of these, and its state is a function of the log."""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from app.learning.config import Value
from app.learning.example import Example


@dataclass(frozen=True, slots=True)
class TenantConfigured:
    """Settings were changed: only those named."""

    changes: Mapping[str, Value]


class Served(msgspec.Struct, frozen=True):
    """The verdict that was given when the example was scored: the model may have learnt since."""

    label: int
    score: float


class FeedbackGiven(msgspec.Struct, frozen=True):
    """Someone said what an example is: 1 an anomaly, -1 normal."""

    example: Example
    label: int
    served: Served | None = None


@dataclass(frozen=True, slots=True)
class FeaturesRemoved:
    """Features were dropped whose weight and evidence are both negligible."""

    weight_at_most: float
    evidence_at_most: float


Event = TenantConfigured | FeedbackGiven | FeaturesRemoved
