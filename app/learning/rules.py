"""Rules for the values of settings: what is valid, and how a refusal says it."""

from collections.abc import Callable
from typing import Any, NamedTuple

TINY = 1e-12
HUGE = 1e12


class Rule(NamedTuple):
    """What a value must be, in words; whether it is; and the texts to choose from, if there are any."""

    expected: str
    is_valid: Callable[[Any], bool]
    choices: tuple[str, ...] = ()


FLAG = Rule("true or false", lambda value: isinstance(value, bool))


def number(expected: str, low: float, high: float, *, or_none: bool = False) -> Rule:
    """A finite number from `low` to `high`."""

    def is_valid(value: object) -> bool:
        if value is None:
            return or_none
        return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high

    return Rule(expected, is_valid)


def whole(low: int, high: int) -> Rule:
    """A whole number from `low` to `high`."""
    return Rule(f"a whole number from {low:,} to {high:,}", lambda value: type(value) is int and low <= value <= high)


def one_of(*choices: str) -> Rule:
    """One of several texts."""
    spelled = " or ".join(map(repr, choices))
    return Rule(spelled, lambda value: isinstance(value, str) and value in choices, choices)


def one_of_or_none(*choices: str) -> Rule:
    """One of several texts, or nothing."""
    spelled = f"{', '.join(map(repr, choices))} or null"
    return Rule(spelled, lambda value: value is None or (isinstance(value, str) and value in choices), choices)


def or_text(text: str, rule: Rule) -> Rule:
    """A text, or what the rule accepts."""
    return Rule(f"{rule.expected}, or {text!r}", lambda value: value == text or rule.is_valid(value), (text,))


def zero_or(rule: Rule) -> Rule:
    """0, or what the rule accepts."""
    return Rule(
        f"0, or {rule.expected}",
        lambda value: rule.is_valid(value) or (type(value) in {int, float} and value == 0),
    )
