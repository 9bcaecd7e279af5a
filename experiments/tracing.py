"""Finding the lambdas that lead to wanted sparsities: nobody knows them beforehand, and each set has its own."""

import math
from collections.abc import Callable, Sequence
from typing import Final

FIRST: Final = 1e-3
FACTOR: Final = 16.0
LEAST: Final = 1e-12
MOST: Final = 1e9
STEPS: Final = 7  # of halving, for one level

Sparsity = Callable[[float], float]


def lambdas(sparsity_at: Sparsity, levels: Sequence[float]) -> list[float]:
    """For each level the lambda whose sparsity came closest; ascending, none twice, 0 first."""
    known: dict[float, float] = {}

    def at(strength: float) -> float:
        if strength not in known:
            known[strength] = sparsity_at(strength)
        return known[strength]

    at(0.0)
    _bracket(at, known, min(levels), max(levels))
    for level in levels:
        _approach(at, known, level)
    chosen = {min(known, key=lambda strength: abs(known[strength] - level)) for level in levels}
    return sorted({0.0} | chosen)


def tolerance(level: float) -> float:
    """How close is close enough: a tenth of what is left, since the ends of the curve are the steepest."""
    return min(0.02, 0.1 * (1.0 - level))


def _bracket(at: Sparsity, known: dict[float, float], low: float, high: float) -> None:
    """Look far enough to both sides."""
    strength = FIRST
    while at(strength) < high and strength < MOST:
        strength *= FACTOR
    strength = FIRST
    low = max(low, known[0.0] + tolerance(low))  # some weights are 0 by themselves
    while at(strength) > low and strength > LEAST:
        strength /= FACTOR


def _approach(at: Sparsity, known: dict[float, float], level: float) -> None:
    for _ in range(STEPS):
        below = max((s for s in known if known[s] <= level), default=0.0)
        above = min((s for s in known if known[s] > level and s > below), default=math.inf)
        closest = min(abs(found - level) for found in known.values())
        if closest <= tolerance(level) or math.isinf(above) or below == 0.0 or above / below < 1.0 + 1e-6:
            return
        at(math.sqrt(below * above))
