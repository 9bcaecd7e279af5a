"""Reasons for features that callers gave: they know what their own names mean."""

import re

from app.features.reasons.reason import quoted
from app.learning.parts.names import BIAS_NAME

# As explanations show an encoded number: `amount 1,500 (1,024-2,048)`, or `amount 0`.
NUMBER = re.compile(r"(?s)(.+) (-?[\d,.]+(?:e[+-]?\d+)?) \(([^()]+)\)")
ZERO = re.compile(r"(?s)(.+) 0")
RANGE = re.compile(r"(-?[\d,.]+(?:e[+-]?\d+)?)-(-?[\d,.]+(?:e[+-]?\d+)?)")
LONGEST_NAME = 200
LONGEST_READ = 1000  # characters of a name in which a number or a category is looked for
UNNAMED = re.compile(r"#[0-9a-f]{16}")
CATEGORY = re.compile(r"(?s)([^=]+)=(.*)")


def wording_of_given(name: str) -> str:
    """Return the reason for a feature that a caller gave, or for one whose name is not known."""
    if name == BIAS_NAME:
        return "starting point of every score"
    if UNNAMED.fullmatch(name):
        return f"feature whose name is not stored ({name})"
    text = _value(name) if len(name) <= LONGEST_READ else None
    return text or _plain(name)


def _value(name: str) -> str | None:
    """Return the reason for a feature whose name has a value; None if it has none."""
    if number := NUMBER.fullmatch(name):
        limits = RANGE.fullmatch(number[3])
        return f"{_plain(number[1])} is {number[2]} ({f'{limits[1]} to {limits[2]}' if limits else number[3]})"
    if zero := ZERO.fullmatch(name):
        return f"{_plain(zero[1])} is 0"
    if category := CATEGORY.fullmatch(name):
        return f"{_plain(category[1])} is {quoted(category[2]) if category[2] else 'empty'}"
    return None


def _plain(name: str) -> str:
    return quoted(name, LONGEST_NAME)[1:-1]
