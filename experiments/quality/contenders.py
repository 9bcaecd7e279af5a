"""Learners to compare, and Sluice itself; each is tested on an example before it learns its label."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np

from app.learning.config import Value
from app.learning.state import TenantState
from experiments.examples import Examples
from kernels.arrays import Floats

OURS = "Sluice"
SPARSE = "Sluice, 90% sparsity"
WEIGHT = "weight of an anomaly"
RARE_WEIGHTS = (1.0, 30.0)  # to choose from where anomalies are rare

Options = Mapping[str, float | str]


@dataclass(frozen=True, slots=True, eq=False)
class Played:
    """The scores before learning, above 0 for an anomaly; and the share of weights that are 0 in the end, if known."""

    scores: Floats
    sparsity: float | None = None

    def up_to(self, count: int) -> "Played":
        """Return the scores of a beginning; its sparsity is not known."""
        return self if count >= self.scores.size else Played(self.scores[:count])


@dataclass(frozen=True, slots=True)
class Contender:
    """A learner, with the settings among which the best is chosen."""

    name: str
    play: Callable[[Examples, Sequence[Options]], list[Played]]  # test, then train, anew for each setting
    grid: tuple[Options, ...] = ({},)
    limit: int | None = None  # examples at most, for a slow learner
    tuned_on: int | None = None  # examples on which settings are chosen; None: the whole stream, in hindsight
    microseconds: float = 3.0  # per example, about
    reads_raws: bool = False  # inputs instead of features

    def settings(self, *, rare: bool) -> Sequence[Options]:
        """Return the grid; where anomalies are rare and there is a choice, also with a larger weight for them."""
        if not rare or len(self.grid) == 1:
            return self.grid
        return [{**options, WEIGHT: weight} for weight, options in product(RARE_WEIGHTS, self.grid)]


def sluice(name: str = OURS, **config: Value) -> Contender:
    return Contender(name, partial(_play_sluice, config))


def _play_sluice(config: dict[str, Value], stream: Examples, settings: Sequence[Options]) -> list[Played]:
    found = []
    for _ in settings:
        state = TenantState(config)
        scores, thresholds = state.learn_batch(stream.starts, stream.keys, stream.values, stream.labels)
        weights = state.model.survey().weights
        sparsity = 1.0 - int(np.count_nonzero(weights)) / weights.size if weights.size else None
        found.append(Played(scores - thresholds, sparsity))
    return found
