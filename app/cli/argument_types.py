"""Types of command line arguments: each parses a text, or says what it should have been; and `--version`."""

import math
import re
from argparse import Action, ArgumentParser, ArgumentTypeError, Namespace
from typing import Final

SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
DURATION: Final = re.compile(r"(\d{1,9})([smhd])")


def duration(text: str) -> int:
    """Parse 30s, 15m, 12h or 90d; return seconds."""
    match = DURATION.fullmatch(text)
    if match is None:
        raise ArgumentTypeError(f"{text!r} is not a duration; write it as 30s, 15m, 12h or 90d")
    return int(match[1]) * SECONDS[match[2]]


def names(text: str) -> list[str]:
    """Parse a list that is separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def count(text: str) -> int:
    """Parse a whole number of at least 1."""
    if not text.isascii() or not text.isdecimal() or int(text) == 0:
        raise ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def rate(text: str) -> float:
    """Parse a number above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < math.inf:
        raise ArgumentTypeError(f"{text!r} is not a number above 0")
    return value


class VersionAction(Action):
    """Prints the version that is installed."""

    def __call__(self, parser: ArgumentParser, _: Namespace, __: object, ___: str | None = None) -> None:
        """Print it, and end."""
        from importlib.metadata import version  # noqa: PLC0415 - only --version needs it

        print(f"sluice {version('sluice')}")
        parser.exit()
