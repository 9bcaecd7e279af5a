"""river, which learns dicts of Python: too slow for the whole of a long stream.

The steps that it ships with are far too small for examples of length 1, so it may choose from larger ones.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from river import linear_model, optim

from load_tests.quality.contenders.contender import RARE_WEIGHTS, WEIGHT, Options, Played
from load_tests.quality.stream import Stream

LIMIT = 20_000
TUNED_ON = 5000
MICROSECONDS_PER_NONZERO = 2.0


@dataclass(frozen=True, slots=True)
class River:
    """Logistic regression with one of its optimizers, the best step of a grid."""

    name: str
    optimizer: Callable[..., Any]
    grid: tuple[Options, ...]
    limit: int | None = LIMIT
    tuned_on: int | None = TUNED_ON

    def seconds(self, examples: int, nonzeros: int) -> float:
        """About what one setting takes for a stream."""
        return 1e-6 * (MICROSECONDS_PER_NONZERO * nonzeros + 20 * examples)

    def settings(self, *, rare: bool) -> Sequence[Options]:
        """The grid; where anomalies are rare, with a larger weight for them, too."""
        if not rare:
            return self.grid
        return [{**options, WEIGHT: weight} for weight, options in product(RARE_WEIGHTS, self.grid)]

    def play(self, stream: Stream, settings: Sequence[Options]) -> list[Played]:
        """Test, then train, over a stream, anew for each of the settings."""
        columns, _ = stream.columns()
        return [self._played(stream, columns.tolist(), dict(options)) for options in settings]

    def _played(self, stream: Stream, names: list[int], options: dict[str, float | str]) -> Played:
        loss = optim.losses.Log(weight_pos=options.pop(WEIGHT, 1.0))
        model: Any = linear_model.LogisticRegression(self.optimizer(**options), loss)
        values, starts = stream.values.tolist(), stream.starts.tolist()
        scores = np.empty(len(stream))
        for i, label in enumerate(stream.labels.tolist()):
            some = slice(starts[i], starts[i + 1])
            example = dict(zip(names[some], values[some], strict=True))
            scores[i] = model.predict_proba_one(example)[True] - 0.5
            model.learn_one(example, label > 0.0)
        return Played(scores)


def river_sgd() -> River:
    """Plain gradient steps."""
    return River("river LogisticRegression, tuned", optim.SGD, tuple({"lr": lr} for lr in (1.0, 3.0, 10.0, 30.0)))


def river_ftrl() -> River:
    """Follow the regularized leader."""
    return River("river FTRL, tuned", optim.FTRLProximal, tuple({"alpha": alpha} for alpha in (1.0, 3.0, 10.0, 30.0)))
