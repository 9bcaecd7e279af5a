"""river's logistic regression with FTRL, behind FastAPI: `python -m ... port '{"alpha": 0.05}'`."""

import sys

from river import linear_model, optim

from load_tests.peers.learners.serving import serve


class RiverFtrl:
    """Its own defaults, unless others are given; `weight` is that of an anomaly."""

    def __init__(self, weight: float = 1.0, **options: float) -> None:
        loss = optim.losses.Log(weight_pos=weight)
        self._model = linear_model.LogisticRegression(optim.FTRLProximal(**options), loss)

    def score(self, features: dict[str, float]) -> float:
        """The probability, less one half."""
        return float(self._model.predict_proba_one(features)[True]) - 0.5

    def learn(self, features: dict[str, float], label: int) -> None:
        """One step."""
        self._model.learn_one(features, label > 0)


if __name__ == "__main__":
    serve(RiverFtrl, sys.argv[1:])
