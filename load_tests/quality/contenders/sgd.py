"""scikit-learn's SGDClassifier.

A step of it goes over all weights, so exact single steps take too long on a long stream: there it is tested on a block
of examples before it learns them one after the other. Of features that only one example has it need not know.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import product

import numpy as np
from sklearn.linear_model import SGDClassifier

from load_tests.quality.contenders.contender import RARE_WEIGHTS, WEIGHT, Options, Played
from load_tests.quality.stream import Stream

GRID: tuple[Options, ...] = tuple(
    {"loss": loss, "alpha": alpha} for loss, alpha in product(("hinge", "log_loss"), (1e-3, 1e-4, 1e-5))
)
EXACT_EXAMPLES = 2000  # up to so many, in single steps
BLOCK = 50
TUNED_ON = 20_000
CLASSES = np.array([-1.0, 1.0])

csr_matrix = import_module("scipy.sparse").csr_matrix  # scipy comes with scikit-learn and has no types


@dataclass(frozen=True, slots=True)
class Sgd:
    """Stochastic gradient descent with the best loss and penalty of a grid."""

    name: str = "scikit-learn SGD, tuned"
    limit: int | None = None
    tuned_on: int | None = TUNED_ON

    def seconds(self, examples: int, nonzeros: int) -> float:
        """About what one setting takes for a stream."""
        blocks = examples if examples <= EXACT_EXAMPLES else examples / BLOCK
        return blocks * (1e-3 + 1e-9 * nonzeros / 3)

    def settings(self, *, rare: bool) -> Sequence[Options]:
        """The grid; where anomalies are rare, with a larger weight for them, too."""
        if not rare:
            return GRID
        return [{**options, WEIGHT: weight} for weight, options in product(RARE_WEIGHTS, GRID)]

    def play(self, stream: Stream, settings: Sequence[Options]) -> list[Played]:
        """Test, then train, over a stream, anew for each of the settings."""
        slim = stream.without_singletons()
        columns, features = slim.columns()
        matrix = csr_matrix((slim.values, columns, slim.starts), shape=(len(slim), max(features, 1)))
        return [_played(matrix, slim, dict(options)) for options in settings]


def _played(matrix: csr_matrix, stream: Stream, options: dict[str, float | str]) -> Played:  # type: ignore[valid-type]
    weight = options.pop(WEIGHT, 1.0)
    model = SGDClassifier(**options, shuffle=False, class_weight={1.0: weight, -1.0: 1.0})
    block = 1 if len(stream) <= EXACT_EXAMPLES else BLOCK
    scores = np.zeros(len(stream))  # nothing is known before the first block
    for start in range(0, len(stream), block):
        some = slice(start, min(start + block, len(stream)))
        examples = matrix[some]  # type: ignore[index]
        if start:
            scores[some] = model.decision_function(examples)
        model.partial_fit(examples, stream.labels[some], classes=CLASSES)
    return Played(scores)
