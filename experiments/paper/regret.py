"""Tasks: regret of FSOL and SSOL on each kind of sequence."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np

from app.learning.config import Value, config_of
from app.learning.model import Model
from experiments.paper.hindsight import Best, best, limit_loss, loss
from experiments.paper.protocol import Sizes
from experiments.paper.theorems import KINDS, LAMBDA, THEOREMS, Compared, R, Rounds, compared, floor
from experiments.tasks import Task
from kernels.arrays import Floats
from kernels.feature_hash import key_of

STUDY: Final = "regret"
SEED: Final = 2_016
TUNED: Final = "tuned"
FIXED: Final = {"1": 1.0, "16": 16.0}
SEQUENCES: Final = (("noisy", 20, 3.0), ("separable", 20, 1.5), ("coins", 20, 1.5), ("noisy", 5, 1.2))

ByHorizon = list[list[float]]  # for each seed and horizon


class Game(NamedTuple):
    """The rounds of one seed, and for each horizon the best fixed weights in hindsight, as the bounds measure them."""

    rounds: Rounds
    bests: list[Best]
    compared: list[Compared]


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
    best_losses: ByHorizon  # of the best fixed weights in hindsight
    energies: ByHorizon  # w' A_T w: the D^2 of the theorem on SSOL
    held_losses: ByHorizon  # of these weights, shrunk until their D^2 is that of the first horizon
    curves: list[Curve]
    limits: dict[str, float]  # by fixed rate: the regret per round at which SSOL must end, for the first seed
    floor: list[float] | None  # the least mean regret of any learner, where it is known

    def curve(self, algorithm: str, rate: str) -> Curve:
        return next(each for each in self.curves if (each.algorithm, each.rate) == (algorithm, rate))


def tasks(sizes: Sizes) -> list[Task]:
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
    games = []
    for seed in range(seeds):
        generator = np.random.default_rng([SEED, dimensions, seed])
        games.append(_game(KINDS[sequence](max(horizons), dimensions, generator), horizons))
    first = games[0]
    least = first.bests[-1].loss / len(first.rounds.labels)
    return Regret(
        sequence=sequence,
        dimensions=dimensions,
        horizons=horizons,
        best_losses=[[best.loss for best in game.bests] for game in games],
        energies=[[each.energy for each in game.compared] for game in games],
        held_losses=[_held_losses(game) for game in games],
        curves=[_curve(name, rate, games, fit_from) for rate in (TUNED, *FIXED) for name in THEOREMS],
        limits={rate: limit_loss(first.rounds.signed, eta) - least for rate, eta in FIXED.items()},
        floor=[floor(count, dimensions) for count in horizons] if sequence == "coins" else None,
    )


def losses(algorithm: str, rounds: Rounds, eta: float) -> Floats:
    """Return the hinge loss of each round, with lambda_t as in the theorem."""
    count, dimensions = rounds.examples.shape
    # The examples are bounded as the theorem requires, so they are not normalised.
    setting: dict[str, Value] = {"algorithm": algorithm, "eta": eta, "lambda": LAMBDA, "normalize": "none"}
    setting |= {"lambda_schedule": THEOREMS[algorithm].schedule} | ({} if algorithm == "fsol" else {"r": R})
    model = Model(config_of(setting))
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


def _game(rounds: Rounds, horizons: Sequence[int]) -> Game:
    bests: list[Best] = []
    guess = np.zeros(rounds.examples.shape[1])
    for count in horizons:
        known = rounds.separator
        bests.append(best(rounds.first(count).signed, guess) if known is None else Best(known, 0.0, 0.0))
        guess = bests[-1].weights
    pairs = zip(horizons, bests, strict=True)
    return Game(rounds, bests, [compared(rounds.examples[:count], each.weights) for count, each in pairs])


def _held_losses(game: Game) -> list[float]:
    found = []
    for each, measured in zip(game.bests, game.compared, strict=True):
        shrunk = each.weights * float(np.sqrt(game.compared[0].energy / measured.energy))
        found.append(loss(game.rounds.first(measured.rounds).signed, shrunk))
    return found


def _curve(algorithm: str, rate: str, games: Sequence[Game], fit_from: int) -> Curve:
    theorem = THEOREMS[algorithm]
    curve = Curve(algorithm, rate, [], [], [], [])
    for game in games:
        counts = [each.rounds for each in game.compared]
        etas = [theorem.rate(each) if rate == TUNED else FIXED[rate] for each in game.compared]
        totals = _totals(algorithm, game.rounds, etas, counts)
        regrets = [total - best.loss for total, best in zip(totals, game.bests, strict=True)]
        curve.regrets.append(regrets)
        curve.bounds.append([theorem.bound(*each) for each in zip(game.compared, etas, strict=True)])
        curve.exponents.append(exponent(counts, regrets, fit_from))
        curve.late_exponents.append(exponent(counts, regrets, counts[-1] // 10))
    return curve


def _totals(algorithm: str, rounds: Rounds, etas: Sequence[float], counts: Sequence[int]) -> list[float]:
    """Return the loss up to each horizon; a new rate starts a new game."""
    if len(set(etas)) == 1:
        lost = np.cumsum(losses(algorithm, rounds, etas[0]))
        return [float(lost[count - 1]) for count in counts]
    return [float(losses(algorithm, rounds.first(count), eta).sum()) for count, eta in zip(counts, etas, strict=True)]
