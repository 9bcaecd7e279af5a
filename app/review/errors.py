"""Errors of reviewers."""

from app.learning.errors import SluiceError

LOST = {
    "gone": "has left the queue: it has a label, was passed by enough people, or is not kept any more",
    "leased": "is leased by somebody else",
    "waiting": "waits in the queue: its lease has ended",
}


class LeaseLost(SluiceError):
    """The caller does not hold the lease of this item."""

    def __init__(self, prediction_id: str, why: str) -> None:
        super().__init__(f"prediction {prediction_id!r} {LOST[why]}")


class TooManyLeases(SluiceError):
    """The person holds as many leases as one may."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"you hold {limit:,} leases, which is the limit (SLUICE_REVIEW_MAX_LEASES)")
