"""Rules for the values of settings: what is valid, and how a refusal says it."""

from collections.abc import Callable
from typing import Any

TINY = 1e-12
HUGE = 1e12
Rule = tuple[str, Callable[[Any], bool]]


def number(expected: str, low: float, high: float, *, or_none: bool = False) -> Rule:
    """A finite number from `low` to `high`."""

    def is_valid(value: object) -> bool:
        if value is None:
            return or_none
        return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high

    return expected, is_valid


def whole(low: int, high: int) -> Rule:
    """A whole number from `low` to `high`."""
    return f"a whole number from {low:,} to {high:,}", lambda value: type(value) is int and low <= value <= high


def one_of(*choices: str) -> Rule:
    """One of several texts."""
    spelled = " or ".join(map(repr, choices))
    return spelled, lambda value: isinstance(value, str) and value in choices


def or_text(text: str, rule: Rule) -> Rule:
    """A text, or what the rule accepts."""
    expected, is_valid = rule
    return f"{expected}, or {text!r}", lambda value: value == text or is_valid(value)


def zero_or(rule: Rule) -> Rule:
    """0, or what the rule accepts."""
    expected, is_valid = rule
    return f"0, or {expected}", lambda value: is_valid(value) or (type(value) in {int, float} and value == 0)
