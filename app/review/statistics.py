"""How far people agree beyond chance, and whether one of them differs from the others."""

import math
from collections.abc import Iterable, Sequence

import msgspec

Z = 1.959963984540054  # of a 95% interval
SLACK = 1 + 1e-7  # equal probabilities differ by rounding


class Kappa(msgspec.Struct, frozen=True):
    """Cohen's kappa with its 95% interval; what is unknown is None, and `reason` says why."""

    pairs: int
    agreement: float | None = None  # the share of pairs that agree
    value: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str | None = None


class Stratum(msgspec.Struct, frozen=True):
    """How often something happened in one person's trials, and in those of the others."""

    hits: int
    trials: int
    other_hits: int
    other_trials: int


def kappa(both: int, first_only: int, second_only: int, neither: int, *, exchangeable: bool = False) -> Kappa:
    """Return the agreement of two raters: how often both said anomaly, only the first, only the second, neither.

    `exchangeable`: the raters differ from pair to pair, so both sides share one rate (Fleiss' kappa of two ratings).
    The interval is Wilson's of the agreement, at the agreement that chance would give: it also holds for few pairs, and
    if all agree.
    """
    pairs = both + first_only + second_only + neither
    if pairs == 0:
        return Kappa(0, reason="nobody has labelled what somebody else has labelled too")
    agreement = (both + neither) / pairs
    first, second = (both + first_only) / pairs, (both + second_only) / pairs
    if exchangeable:
        first = second = (first + second) / 2
    chance = first * second + (1 - first) * (1 - second)
    if chance >= 1:
        same = "anomaly" if both else "normal"
        return Kappa(pairs, agreement, reason=f"every label is {same}, so agreement is no better than chance")
    low, high = wilson(both + neither, pairs)
    value, low, high = ((each - chance) / (1 - chance) for each in (agreement, low, high))
    return Kappa(pairs, agreement, max(value, -1.0), max(min(low, value), -1.0), min(max(high, value), 1.0))


def wilson(hits: int, trials: int) -> tuple[float, float]:
    """Return Wilson's 95% interval of a rate."""
    rate, square = hits / trials, Z * Z / trials
    middle = (rate + square / 2) / (1 + square)
    half = Z * math.sqrt(rate * (1 - rate) / trials + square / (4 * trials)) / (1 + square)
    return max(middle - half, 0.0), min(middle + half, 1.0)


def fisher(found: Stratum) -> float:
    """Return the two-sided p-value of Fisher's exact test: whether two rates differ."""
    total, hits = found.trials + found.other_trials, found.hits + found.other_hits
    low, high = max(0, hits - found.other_trials), min(hits, found.trials)
    whole = _log_choose(total, hits)

    def log_probability(count: int) -> float:
        return _log_choose(found.trials, count) + _log_choose(found.other_trials, hits - count) - whole

    most = log_probability(found.hits) + math.log(SLACK)
    likely = (each for each in map(log_probability, range(low, high + 1)) if each <= most)
    return min(math.fsum(map(math.exp, likely)), 1.0)


def mantel_haenszel(strata: Iterable[Stratum]) -> float | None:
    """Return the two-sided p-value of the Cochran-Mantel-Haenszel test, with its correction for continuity.

    It asks whether two rates differ within strata, so a different mix of strata is no difference. None if no stratum
    can tell.
    """
    excess = variance = 0.0
    for each in strata:
        total, hits = each.trials + each.other_trials, each.hits + each.other_hits
        if not each.trials or not each.other_trials or hits in {0, total}:
            continue
        excess += each.hits - each.trials * hits / total
        variance += each.trials * each.other_trials * hits * (total - hits) / (total * total * (total - 1))
    if variance <= 0:
        return None
    return math.erfc(max(abs(excess) - 0.5, 0.0) / math.sqrt(2 * variance))


def holm(values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number by Holm's method."""
    corrected, most = [0.0] * len(values), 0.0
    for place, index in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        most = max(most, min(values[index] * (len(values) - place), 1.0))
        corrected[index] = most
    return corrected


def _log_choose(total: int, some: int) -> float:
    return math.lgamma(total + 1) - math.lgamma(some + 1) - math.lgamma(total - some + 1)
