"""scikit-learn's SGDClassifier on hashed features, behind FastAPI: `python -m ... port '{"alpha": 0.0001}'`."""

import sys

import numpy as np
from sklearn.feature_extraction import FeatureHasher
from sklearn.linear_model import SGDClassifier

from load_tests.peers.learners.serving import serve

COLUMNS = 1 << 20
CLASSES = np.array([-1, 1])


class Sgd:
    """Single steps of `partial_fit`; `weight` is that of an anomaly."""

    def __init__(self, weight: float = 1.0, **options: float | str) -> None:
        self._hasher = FeatureHasher(COLUMNS)
        self._model = SGDClassifier(**options, class_weight={1: weight, -1: 1.0})
        self._knows_anything = False

    def score(self, features: dict[str, float]) -> float:
        """The margin; 0 before the first step, when the library has no answer."""
        if not self._knows_anything:
            return 0.0
        return float(self._model.decision_function(self._hasher.transform([features]))[0])

    def learn(self, features: dict[str, float], label: int) -> None:
        """One step, over all weights: that is how the library does it."""
        self._model.partial_fit(self._hasher.transform([features]), np.array([label]), classes=CLASSES)
        self._knows_anything = True


if __name__ == "__main__":
    serve(Sgd, sys.argv[1:])
