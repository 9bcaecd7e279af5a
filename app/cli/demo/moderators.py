"""Pretend moderators for the demo of the console: how much they work, and how often they are wrong."""

from random import Random
from typing import Final, NamedTuple


class Moderator(NamedTuple):
    """A pretend moderator: how much of the work they do, and how often they miss an attack or find one in vain."""

    name: str
    work: int
    misses: float
    false_alarms: float


MODERATORS: Final = (
    Moderator("kim", 5, 0.03, 0.01),
    Moderator("lee", 4, 0.05, 0.01),
    Moderator("noa", 3, 0.04, 0.02),
    Moderator("max", 3, 0.10, 0.25),  # differs from the others, which the console points out
)
UNASKED_SHARE: Final = 0.05  # of what nobody was asked to review gets a label as well: complaints
SECOND_SHARE: Final = 0.25  # of the labels are looked at by somebody else


def decide(random: Random, truth: int, not_by: str | None = None) -> tuple[str, int]:
    """Return who labels an item, and how; `not_by` has labelled it before."""
    free = [each for each in MODERATORS if each.name != not_by]
    (person,) = random.choices(free, [each.work for each in free])
    errs = random.random() < (person.misses if truth == 1 else person.false_alarms)
    return person.name, -truth if errs else truth
