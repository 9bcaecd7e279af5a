"""The review policy of a tenant: which predictions a person should look at, and with which probability."""

from collections.abc import Mapping

import msgspec

from app.learning.config import Value

REASONS = ("", "uncertain", "flagged", "random", "unknown")
HOURS = 24.0


class Chosen(msgspec.Struct, frozen=True, gc=False):
    """How a prediction was chosen for review: the index in REASONS, the probability, the expected cost of an error."""

    reason: int
    probability: float
    cost: float


class ReviewPolicy(msgspec.Struct, frozen=True, gc=False):
    """The shares of predictions that are chosen, by reason; the band of uncertain ones; how many an hour at most."""

    uncertain: float
    flagged: float
    at_random: float
    band: float
    per_hour: float | None  # None: no budget


def policy_of(values: Mapping[str, Value]) -> ReviewPolicy | None:
    """Return the policy of a configuration; None if it chooses nothing."""
    uncertain, flagged, random, band = (
        float(values[f"review_{name}"] or 0.0) for name in ("uncertain", "flagged", "random", "band")
    )
    if not random:
        return None
    budget = values["reviews_per_day"]
    return ReviewPolicy(uncertain, flagged, random, band, None if budget is None else float(budget) / HOURS)
