"""A learner behind FastAPI, served as Sluice is served: one worker, uvloop, httptools, no access log.

Bodies are read and answers written by msgspec, as Sluice does it, so that no time is lost that need not be.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec
import uvicorn
from fastapi import FastAPI, Request, Response
from redis.asyncio import Redis


class Learner(Protocol):
    """What a library has to offer."""

    def score(self, features: dict[str, float]) -> float:
        """Above 0 for an anomaly."""

    def learn(self, features: dict[str, float], label: int) -> None:
        """Learn one example; its label is 1 for an anomaly and -1 for what is normal."""


class Asked(msgspec.Struct):
    """A body; the label only where something is to be learnt."""

    features: dict[str, float]
    label: int = 0


class Answer(msgspec.Struct):
    """The verdict, before learning."""

    label: int
    score: float


def application(learner: Learner, log: Redis | None = None) -> FastAPI:
    """Two routes: POST /predict and POST /learn. With a log, a label is in it before it is learnt and acknowledged."""
    app = FastAPI()
    read = msgspec.json.Decoder(Asked).decode

    @app.post("/predict")
    async def predict(request: Request) -> Response:
        score = learner.score(read(await request.body()).features)
        return _response(Answer(1 if score > 0.0 else -1, score))

    @app.post("/learn")
    async def learn(request: Request) -> Response:
        body = await request.body()
        asked = read(body)
        if log is not None:
            await log.xadd("log", {"event": body})
        learner.learn(asked.features, asked.label)
        return _response(Answer(asked.label, 0.0))

    return app


def serve(make: Callable[..., Learner], arguments: Sequence[str]) -> None:
    """Until it is ended; the arguments are a port, the learner's options as JSON and, maybe, the port of a log."""
    port, options, *log_port = arguments
    log = Redis(port=int(log_port[0])) if log_port else None
    uvicorn.run(
        application(make(**msgspec.json.decode(options)), log),
        host="127.0.0.1",
        port=int(port),
        loop="uvloop",
        http="httptools",
        access_log=False,
        log_config=None,
        lifespan="on",
        server_header=False,
    )


def _response(answer: Answer) -> Response:
    return Response(msgspec.json.encode(answer), media_type="application/json")
