"""Regret of FSOL and SSOL against the best fixed weights in hindsight, beside the bounds of the theorems."""

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np

from experiments.regret.hindsight import Best, best, loss
from experiments.regret.learning import losses
from experiments.regret.limit import limit_loss
from experiments.regret.rounds import KINDS, Rounds, floor
from experiments.regret.theorems import LAMBDA, THEOREMS, Compared, R, compared
from experiments.task import Task

STUDY: Final = "regret"
SEED: Final = 2_016
HORIZONS: Final = (100, 316, 1_000, 3_162, 10_000, 31_623, 100_000)
SEEDS: Final = 10
QUICK_HORIZONS: Final = (100, 316, 1_000, 3_162)
QUICK_SEEDS: Final = 3
FIT_FROM: Final = 1_000  # the exponent of the growth is fitted from this horizon on
QUICK_FIT_FROM: Final = 100
TUNED: Final = "tuned"
FIXED: Final = {"1": 1.0, "16": 16.0}
SEQUENCES: Final = (("noisy", 20, 3.0), ("separable", 20, 1.5), ("coins", 20, 1.5), ("noisy", 5, 1.2))


class Hindsight(msgspec.Struct, frozen=True):
    """The best fixed weights, for each seed and horizon."""

    losses: list[list[float]]
    norms: list[list[float]]
    energies: list[list[float]]  # w' A_T w: what the theorem on SSOL calls D^2
    held_losses: list[list[float]]  # of these weights, shrunk until their D^2 is that of the first horizon
    gap: float  # how far from optimal they are at most, as a part of the loss


class Curve(msgspec.Struct, frozen=True):
    """A learner whose rate was tuned to each horizon, or fixed; for each seed and horizon."""

    algorithm: str
    rate: str  # "tuned", or the eta
    etas: list[list[float]]
    regrets: list[list[float]]
    bounds: list[list[float]]
    exponents: list[float | None]  # p of regret ~ T^p, for each seed; None if a regret was not above 0
    late_exponents: list[float | None]  # the same over the last decade of T: where a fixed rate leads to

    @property
    def largest_share(self) -> float:
        """The largest regret as a part of its bound: above 1 the bound would be refuted."""
        return float((np.array(self.regrets) / np.array(self.bounds)).max())


class Regret(msgspec.Struct, frozen=True):
    """What was found on one kind of sequence."""

    sequence: str
    dimensions: int
    strength: float  # lambda
    r: float
    horizons: list[int]
    fit_from: int
    hindsight: Hindsight
    curves: list[Curve]
    limits: dict[str, float]  # by fixed rate: the regret per round that SSOL is bound to end at, for the first seed
    floor: list[float] | None  # what no learner gets below on average, where that is known

    def curve(self, algorithm: str, rate: str) -> Curve:
        """One of them."""
        return next(each for each in self.curves if (each.algorithm, each.rate) == (algorithm, rate))


def tasks(*, quick: bool) -> list[Task]:
    """One for each kind of sequence."""
    horizons, seeds, fit_from = (QUICK_HORIZONS, QUICK_SEEDS, QUICK_FIT_FROM) if quick else (HORIZONS, SEEDS, FIT_FROM)
    return [
        Task(
            study=STUDY,
            name=f"{sequence}, {dimensions} dimensions",
            seconds=0.5 if quick else seconds * seeds,
            run=run,
            arguments={
                "sequence": sequence,
                "dimensions": dimensions,
                "horizons": list(horizons),
                "seeds": seeds,
                "fit_from": fit_from,
            },
        )
        for sequence, dimensions, seconds in SEQUENCES
    ]


def run(*, sequence: str, dimensions: int, horizons: list[int], seeds: int, fit_from: int) -> Regret:
    """Play the sequences of all seeds."""
    drawn = [_draw(sequence, dimensions, max(horizons), seed) for seed in range(seeds)]
    found = [_hindsights(rounds, horizons) for rounds in drawn]
    to = [
        [compared(rounds.examples[:count], each.weights) for count, each in zip(horizons, own, strict=True)]
        for rounds, own in zip(drawn, found, strict=True)
    ]
    curves = [_curve(algorithm, rate, drawn, found, to, fit_from) for rate in (TUNED, *FIXED) for algorithm in THEOREMS]
    return Regret(
        sequence=sequence,
        dimensions=dimensions,
        strength=LAMBDA,
        r=R,
        horizons=horizons,
        fit_from=fit_from,
        hindsight=_hindsight(drawn, found, to),
        curves=curves,
        limits={rate: _limit(drawn[0], found[0][-1], eta) for rate, eta in FIXED.items()},
        floor=[floor(count, dimensions) for count in horizons] if sequence == "coins" else None,
    )


def exponent(horizons: Sequence[int], regrets: Sequence[float], fit_from: int) -> float | None:
    """The slope of log regret against log T."""
    points = [(count, regret) for count, regret in zip(horizons, regrets, strict=True) if count >= fit_from]
    if min(regret for _, regret in points) <= 0.0:
        return None
    sizes, grown = np.log(np.array(points)).T
    return float(np.polyfit(sizes, grown, 1)[0])


def _draw(sequence: str, dimensions: int, count: int, seed: int) -> Rounds:
    return KINDS[sequence](count, dimensions, np.random.default_rng([SEED, dimensions, seed]))


def _hindsights(rounds: Rounds, horizons: Sequence[int]) -> list[Best]:
    if rounds.separator is not None:
        return [Best(rounds.separator, 0.0, 0.0)] * len(horizons)
    found: list[Best] = []
    guess = np.zeros(rounds.examples.shape[1])
    for count in horizons:
        found.append(best(rounds.first(count).signed, guess))
        guess = found[-1].weights
    return found


def _hindsight(drawn: list[Rounds], found: list[list[Best]], to: list[list[Compared]]) -> Hindsight:
    return Hindsight(
        losses=[[each.loss for each in own] for own in found],
        norms=[[each.norm for each in own] for own in to],
        energies=[[each.energy for each in own] for own in to],
        held_losses=[
            [_held_loss(rounds, one, measured, own_to[0]) for one, measured in zip(own, own_to, strict=True)]
            for rounds, own, own_to in zip(drawn, found, to, strict=True)
        ],
        gap=max(each.gap / max(1.0, each.loss) for own in found for each in own),
    )


def _held_loss(rounds: Rounds, one: Best, measured: Compared, first: Compared) -> float:
    shrunk = one.weights * float(np.sqrt(first.energy / measured.energy))
    return loss(rounds.first(measured.rounds).signed, shrunk)


def _limit(rounds: Rounds, one: Best, eta: float) -> float:
    return limit_loss(rounds.signed, eta) - one.loss / len(rounds.labels)


def _curve(  # noqa: PLR0913, PLR0917 - a curve is all of these
    algorithm: str,
    rate: str,
    drawn: list[Rounds],
    found: list[list[Best]],
    to: list[list[Compared]],
    fit_from: int,
) -> Curve:
    theorem = THEOREMS[algorithm]
    etas = [[theorem.rate(each) if rate == TUNED else FIXED[rate] for each in own] for own in to]
    counts = [each.rounds for each in to[0]]
    totals = [_totals(algorithm, rounds, own, counts) for rounds, own in zip(drawn, etas, strict=True)]
    regrets = [
        [total - each.loss for total, each in zip(own, bests, strict=True)]
        for own, bests in zip(totals, found, strict=True)
    ]
    return Curve(
        algorithm=algorithm,
        rate=rate,
        etas=etas,
        regrets=regrets,
        bounds=[
            [theorem.bound(*each) for each in zip(own, rates, strict=True)] for own, rates in zip(to, etas, strict=True)
        ],
        exponents=[exponent(counts, own, fit_from) for own in regrets],
        late_exponents=[exponent(counts, own, counts[-1] // 10) for own in regrets],
    )


def _totals(algorithm: str, rounds: Rounds, etas: Sequence[float], counts: Sequence[int]) -> list[float]:
    """What was lost up to each horizon; a new rate is a new game."""
    if len(set(etas)) == 1:
        lost = np.cumsum(losses(algorithm, rounds, etas[0]))
        return [float(lost[count - 1]) for count in counts]
    return [float(losses(algorithm, rounds.first(count), eta).sum()) for count, eta in zip(counts, etas, strict=True)]
