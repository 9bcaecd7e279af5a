"""The peers' own processes: a library behind FastAPI, served as Sluice is served, and Vowpal Wabbit's daemon.

`python -m load_tests.peers.learners river 8000 '{"alpha": 0.05}'`; a third argument is the port of a log. msgspec reads
bodies and writes answers, as in Sluice, so that the framework costs the peers no more than Sluice.
"""

import sys
from collections.abc import Callable, Sequence

import msgspec
import numpy as np
from fastapi import FastAPI, Request, Response
from redis.asyncio import Redis

from load_tests.harness.limit import serve

COLUMNS = 1 << 20


class RiverFtrl:
    """river's logistic regression with FTRL under its own defaults; `weight` is that of an anomaly."""

    def __init__(self, weight: float = 1.0, **options: float) -> None:
        from river import linear_model, optim  # noqa: PLC0415 - only this learner needs it

        loss = optim.losses.Log(weight_pos=weight)
        self._model = linear_model.LogisticRegression(optim.FTRLProximal(**options), loss)

    def score(self, features: dict[str, float]) -> float:
        """The probability, less one half."""
        return float(self._model.predict_proba_one(features)[True]) - 0.5

    def learn(self, features: dict[str, float], label: int) -> None:
        self._model.learn_one(features, label > 0)


class Sgd:
    """scikit-learn's SGDClassifier on hashed features, in single steps; `weight` is that of an anomaly."""

    def __init__(self, weight: float = 1.0, **options: float | str) -> None:
        from sklearn.feature_extraction import FeatureHasher  # noqa: PLC0415 - only this learner needs it
        from sklearn.linear_model import SGDClassifier  # noqa: PLC0415

        self._hasher = FeatureHasher(COLUMNS)
        self._model = SGDClassifier(**options, class_weight={1: weight, -1: 1.0})
        self._has_learnt = False

    def score(self, features: dict[str, float]) -> float:
        """The margin; 0 before the first step, when the library has no answer."""
        if not self._has_learnt:
            return 0.0
        return float(self._model.decision_function(self._hasher.transform([features]))[0])

    def learn(self, features: dict[str, float], label: int) -> None:
        self._model.partial_fit(self._hasher.transform([features]), np.array([label]), classes=np.array([-1, 1]))
        self._has_learnt = True


class Body(msgspec.Struct):
    """A request; the label only where it is learnt."""

    features: dict[str, float]
    label: int = 0


def application(learner: RiverFtrl | Sgd, log: Redis | None = None) -> FastAPI:
    """POST /predict and POST /learn. With a log, a label is in it before it is learnt and acknowledged."""
    app = FastAPI()
    read = msgspec.json.Decoder(Body).decode

    def response(label: int, score: float) -> Response:
        return Response(msgspec.json.encode({"label": label, "score": score}), media_type="application/json")

    @app.post("/predict")
    async def predict(request: Request) -> Response:
        score = learner.score(read(await request.body()).features)
        return response(1 if score > 0.0 else -1, score)

    @app.post("/learn")
    async def learn(request: Request) -> Response:
        data = await request.body()
        body = read(data)
        if log is not None:
            await log.xadd("log", {"event": data})
        learner.learn(body.features, body.label)
        return response(body.label, 0.0)

    return app


def main(name: str, arguments: Sequence[str]) -> None:
    if name == "vw":  # what `vw --daemon --foreground` does: the Python package has the library, but no program
        from vowpalwabbit import Workspace  # noqa: PLC0415 - only this daemon needs it

        Workspace(arg_list=["--daemon", "--foreground", *arguments]).run_parser()
        return
    port, options, *log_port = arguments
    learners: dict[str, Callable[..., RiverFtrl | Sgd]] = {"river": RiverFtrl, "sgd": Sgd}
    learner = learners[name](**msgspec.json.decode(options))
    serve(application(learner, Redis(port=int(log_port[0])) if log_port else None), int(port))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
