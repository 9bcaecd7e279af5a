"""Tasks: regret of FSOL and SSOL on each kind of sequence."""

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np

from app.learning.config import Value, config_of
from app.learning.model import Model
from experiments.paper.protocol import Sizes
from experiments.paper.regret.hindsight import Best, best, limit_loss, loss
from experiments.paper.regret.sequences import KINDS, Rounds, floor
from experiments.paper.regret.theorems import LAMBDA, THEOREMS, Compared, R, compared
from experiments.tasks import Task
from kernels.arrays import Floats
from kernels.feature_hash import key_of

STUDY: Final = "regret"
SEED: Final = 2_016
TUNED: Final = "tuned"
FIXED: Final = {"1": 1.0, "16": 16.0}
SEQUENCES: Final = (("noisy", 20, 3.0), ("separable", 20, 1.5), ("coins", 20, 1.5), ("noisy", 5, 1.2))

ByHorizon = list[list[float]]  # for each seed and horizon


class Hindsight(msgspec.Struct, frozen=True):
    """The best fixed weights."""

    losses: ByHorizon
    energies: ByHorizon  # w' A_T w: the D^2 of the theorem on SSOL
    held_losses: ByHorizon  # of these weights, shrunk until their D^2 is that of the first horizon


class Curve(msgspec.Struct, frozen=True):
    """A learner whose rate is tuned to each horizon, or fixed."""

    algorithm: str
    rate: str  # "tuned", or the eta
    regrets: ByHorizon
    bounds: ByHorizon
    exponents: list[float | None]  # p of regret ~ T^p, for each seed; None if a regret was not above 0
    late_exponents: list[float | None]  # the same over the last decade of T

    @property
    def largest_share(self) -> float:
        """Return the largest regret as a part of its bound: above 1 the bound would be refuted."""
        return float((np.array(self.regrets) / np.array(self.bounds)).max())


class Regret(msgspec.Struct, frozen=True):
    """The results on one kind of sequence."""

    sequence: str
    dimensions: int
    horizons: list[int]
    hindsight: Hindsight
    curves: list[Curve]
    limits: dict[str, float]  # by fixed rate: the regret per round at which SSOL must end, for the first seed
    floor: list[float] | None  # the least mean regret of any learner, where it is known

    def curve(self, algorithm: str, rate: str) -> Curve:
        """Return the curve of a learner at a rate."""
        return next(each for each in self.curves if (each.algorithm, each.rate) == (algorithm, rate))


def tasks(sizes: Sizes) -> list[Task]:
    """One task for each kind of sequence."""
    common = {"horizons": list(sizes.horizons), "seeds": sizes.regret_seeds, "fit_from": sizes.fit_from}
    return [
        Task(
            STUDY,
            f"{sequence}, {dimensions} dimensions",
            0.5 if sizes.is_quick else seconds * sizes.regret_seeds,
            run,
            {"sequence": sequence, "dimensions": dimensions, **common},
        )
        for sequence, dimensions, seconds in SEQUENCES
    ]


def run(*, sequence: str, dimensions: int, horizons: list[int], seeds: int, fit_from: int) -> Regret:
    """Play the sequences of all seeds."""
    generators = [np.random.default_rng([SEED, dimensions, seed]) for seed in range(seeds)]
    drawn = [KINDS[sequence](max(horizons), dimensions, generator) for generator in generators]
    found = [_hindsights(rounds, horizons) for rounds in drawn]
    to = [
        [compared(rounds.examples[:count], each.weights) for count, each in zip(horizons, own, strict=True)]
        for rounds, own in zip(drawn, found, strict=True)
    ]
    return Regret(
        sequence=sequence,
        dimensions=dimensions,
        horizons=horizons,
        hindsight=Hindsight(
            losses=[[each.loss for each in own] for own in found],
            energies=[[each.energy for each in own] for own in to],
            held_losses=[
                [_held_loss(rounds, one, measured, own_to[0]) for one, measured in zip(own, own_to, strict=True)]
                for rounds, own, own_to in zip(drawn, found, to, strict=True)
            ],
        ),
        curves=[_curve(name, rate, drawn, found, to, fit_from) for rate in (TUNED, *FIXED) for name in THEOREMS],
        limits={
            rate: limit_loss(drawn[0].signed, eta) - found[0][-1].loss / len(drawn[0].labels)
            for rate, eta in FIXED.items()
        },
        floor=[floor(count, dimensions) for count in horizons] if sequence == "coins" else None,
    )


def losses(algorithm: str, rounds: Rounds, eta: float) -> Floats:
    """Return the hinge loss of each round, with lambda_t as in the theorem."""
    count, dimensions = rounds.examples.shape
    schedule = THEOREMS[algorithm].schedule
    # The examples are bounded as the theorem requires, so they are not normalised.
    setting: dict[str, Value] = {
        "algorithm": algorithm,
        "eta": eta,
        "lambda": LAMBDA,
        "lambda_schedule": schedule,
        "normalize": "none",
    }
    model = Model(config_of(setting if algorithm == "fsol" else {**setting, "r": R}))
    keys = np.tile(np.array([key_of(str(place)) for place in range(dimensions)], np.uint64), count)
    starts = np.arange(count + 1, dtype=np.int64) * dimensions
    batch = model.canonical(starts, keys, np.ascontiguousarray(rounds.examples).reshape(-1))
    return np.maximum(0.0, 1.0 - rounds.labels * model.stream(*batch, rounds.labels))


def exponent(horizons: Sequence[int], regrets: Sequence[float], fit_from: int) -> float | None:
    """Return the slope of log regret against log T."""
    points = [(count, regret) for count, regret in zip(horizons, regrets, strict=True) if count >= fit_from]
    if min(regret for _, regret in points) <= 0.0:
        return None
    sizes, grown = np.log(np.array(points)).T
    return float(np.polyfit(sizes, grown, 1)[0])


def _hindsights(rounds: Rounds, horizons: Sequence[int]) -> list[Best]:
    if rounds.separator is not None:
        return [Best(rounds.separator, 0.0, 0.0)] * len(horizons)
    found: list[Best] = []
    guess = np.zeros(rounds.examples.shape[1])
    for count in horizons:
        found.append(best(rounds.first(count).signed, guess))
        guess = found[-1].weights
    return found


def _held_loss(rounds: Rounds, one: Best, measured: Compared, first: Compared) -> float:
    shrunk = one.weights * float(np.sqrt(first.energy / measured.energy))
    return loss(rounds.first(measured.rounds).signed, shrunk)


def _curve(  # noqa: PLR0913, PLR0917 - a curve is all of these
    algorithm: str, rate: str, drawn: list[Rounds], found: list[list[Best]], to: list[list[Compared]], fit_from: int
) -> Curve:
    theorem = THEOREMS[algorithm]
    counts = [each.rounds for each in to[0]]
    etas = [[theorem.rate(each) if rate == TUNED else FIXED[rate] for each in own] for own in to]
    totals = [_totals(algorithm, rounds, own, counts) for rounds, own in zip(drawn, etas, strict=True)]
    regrets = [
        [total - each.loss for total, each in zip(own, bests, strict=True)]
        for own, bests in zip(totals, found, strict=True)
    ]
    bounds = [
        [theorem.bound(*each) for each in zip(own, rates, strict=True)] for own, rates in zip(to, etas, strict=True)
    ]
    exponents = [exponent(counts, own, fit_from) for own in regrets]
    late = [exponent(counts, own, counts[-1] // 10) for own in regrets]
    return Curve(algorithm, rate, regrets, bounds, exponents, late)


def _totals(algorithm: str, rounds: Rounds, etas: Sequence[float], counts: Sequence[int]) -> list[float]:
    """Return the loss up to each horizon; a new rate starts a new game."""
    if len(set(etas)) == 1:
        lost = np.cumsum(losses(algorithm, rounds, etas[0]))
        return [float(lost[count - 1]) for count in counts]
    return [float(losses(algorithm, rounds.first(count), eta).sum()) for count, eta in zip(counts, etas, strict=True)]
