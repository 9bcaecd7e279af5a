"""Slow twins of app/review/statistics.py: from lists of labels, with exact fractions."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations
from math import comb

Labels = Sequence[tuple[int, int]]  # what two people said of each item
Trials = Sequence[tuple[bool, bool]]  # whether it is the person's trial, and whether it is a hit


def cohen(labels: Labels) -> Fraction | None:
    """Agreement beyond that of two raters who would draw from their own labels."""
    n = len(labels)
    agreement = Fraction(sum(a == b for a, b in labels), n)
    chance = Fraction(sum(a == b for a, _ in labels for _, b in labels), n * n)
    return None if chance == 1 else (agreement - chance) / (1 - chance)


def fleiss(labels: Labels) -> Fraction | None:
    """The same with one pool of labels: it does not matter who was first."""
    n = len(labels)
    pool = [each for pair in labels for each in pair]
    agreement = Fraction(sum(a == b for a, b in labels), n)
    chance = Fraction(sum(a == b for a in pool for b in pool), len(pool) ** 2)
    return None if chance == 1 else (agreement - chance) / (1 - chance)


def fisher(hits: int, trials: int, other_hits: int, other_trials: int) -> Fraction:
    """The share of all ways to deal the hits that are no likelier than what was found."""
    total, all_hits = trials + other_trials, hits + other_hits

    def ways(count: int) -> int:
        return comb(trials, count) * comb(other_trials, all_hits - count)

    return Fraction(
        sum(ways(count) for count in range(all_hits + 1) if ways(count) <= ways(hits)), comb(total, all_hits)
    )


def excess_moments(strata: Sequence[Trials]) -> tuple[Fraction, Fraction, int]:
    """Mean and variance of the person's hits if each stratum's hits were dealt at random, and the hits found.

    It deals the hits in every possible order, so strata must be tiny.
    """
    mean = variance = Fraction(0)
    found = 0
    for trials in strata:
        mine = [is_mine for is_mine, _ in trials]
        counts = [
            sum(is_mine and is_hit for is_mine, is_hit in zip(mine, dealt, strict=True))
            for dealt in permutations([is_hit for _, is_hit in trials])
        ]
        average = Fraction(sum(counts), len(counts))
        mean += average
        variance += sum(((count - average) ** 2 for count in counts), Fraction(0)) / len(counts)
        found += sum(is_mine and is_hit for is_mine, is_hit in trials)
    return mean, variance, found
