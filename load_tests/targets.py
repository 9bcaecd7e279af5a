"""Promises of speed and memory, and whether a run kept them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """A promise, and whether this run kept it; None where it could not be told."""

    text: str
    wanted: str
    measured: str
    met: bool | None


def exit_code(found: Iterable[Target]) -> int:
    """1 if a promise was not kept. What could not be told is no miss."""
    return int(any(target.met is False for target in found))


def at_most(text: str, wanted: float, measured: float, unit: str = " x") -> Target:
    """A promise to stay below."""
    return _compared(text, f"at most {wanted:g}{unit}", measured, unit, lambda value: value <= wanted)


def at_least(text: str, wanted: float, measured: float, unit: str = " x") -> Target:
    """A promise to reach."""
    return _compared(text, f"at least {wanted:g}{unit}", measured, unit, lambda value: value >= wanted)


def _compared(text: str, wanted: str, measured: float, unit: str, fits: Callable[[float], bool]) -> Target:
    return Target(text, wanted, f"{measured:.3g}{unit}", fits(measured))
