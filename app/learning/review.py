"""The review policy: which predictions a person should look at, and why."""

from typing import Final

import msgspec

REASONS: Final = ("", "uncertain", "flagged", "random", "unknown")


class Chosen(msgspec.Struct, frozen=True):
    """A prediction that was chosen for review: why, with which probability, and what a wrong verdict would cost."""

    reason: int  # its index in REASONS
    probability: float
    cost: float
