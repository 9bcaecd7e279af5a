"""One client's manners: a prediction is asked for until somebody answers, a label sent until it is acknowledged."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import msgspec

from load_tests.soak.balancing import Balancer, NobodyAnswers, Reply
from load_tests.soak.ledger import BY_FEATURES, BY_ID, IN_BATCHES, Ledger
from load_tests.soak.traffic import Label, Prediction

ROUNDS = 3  # in which all services are asked for a prediction
LABEL_SECONDS = 90.0  # within which a label must find somebody
PAUSE_SECONDS = 0.1

OK, GONE = 200, 410
FORGOTTEN = "/problems/feedback-forgotten"  # docs/api.md: "Nothing is to be done: it counts, once."


class Predicted(msgspec.Struct):
    """What is read of the answer to a prediction."""

    score: float | None
    prediction_id: str | None


class Problem(msgspec.Struct):
    """What is wrong with a request, or with an item of a batch."""

    type: str
    status: int

    def __str__(self) -> str:
        """In short."""
        return f"{self.status} {self.type}"


class Given(msgspec.Struct):
    """What is read of the answer to a label; only an item of a batch has an error."""

    version: int = 0
    duplicate: bool = False
    error: Problem | None = None


class Batch(msgspec.Struct):
    """The answer to a batch of labels."""

    results: list[Given]


Answer = TypeVar("Answer", bound=msgspec.Struct)


class Client:
    """Asks through a balancer, and writes down what became of it."""

    def __init__(self, balancer: Balancer, ledger: Ledger) -> None:
        self._balancer = balancer
        self._ledger = ledger

    async def predict(self, asked: Prediction) -> str:
        """The id under which a label may come; empty if the input was not kept, or nobody answered."""
        begin = time.monotonic()
        for _ in range(ROUNDS):
            if (reply := await self._sent(b"/predict", asked.body)) is None:
                continue
            found = _read(reply, Predicted)
            if isinstance(found, Problem):
                self._ledger.surprised(str(found))
                break
            self._ledger.predicted(begin, time.monotonic(), kept=found.prediction_id is not None)
            return found.prediction_id or ""
        self._ledger.predictions_failed += 1
        return ""

    async def give(self, label: Label) -> None:
        """Send a label until it is acknowledged, always under the same id."""
        way = BY_ID if label.prediction_id else BY_FEATURES
        deadline = time.monotonic() + LABEL_SECONDS
        while time.monotonic() < deadline:
            if (reply := await self._sent(b"/feedback", label.body)) is None:
                self._ledger.sent_again += 1
            elif reply.status == GONE and label.prediction_id:
                self._ledger.expired += 1
                label = replace(label, prediction_id="")
            else:
                self._settle(label, way, _read(reply, Given))
                return
        self._ledger.given_up.append(label.feedback_id)

    async def give_all(self, labels: list[Label]) -> None:
        """Send a batch until it is acknowledged: it goes into the log as a whole, or not at all."""
        body = b'{"tenant":"%b","items":[%b]}' % (labels[0].tenant.encode(), b",".join(label.item for label in labels))
        deadline = time.monotonic() + LABEL_SECONDS
        while time.monotonic() < deadline:
            if (reply := await self._sent(b"/feedback/batch", body)) is not None:
                answer = _read(reply, Batch)
                self._settle_all(labels, [answer] * len(labels) if isinstance(answer, Problem) else answer.results)
                return
            self._ledger.sent_again += 1
        self._ledger.given_up += [label.feedback_id for label in labels]

    def _settle_all(self, labels: Sequence[Label], answers: Sequence[Given | Problem]) -> None:
        for label, answer in zip(labels, answers, strict=True):
            self._settle(label, IN_BATCHES, answer)

    def _settle(self, label: Label, way: str, answer: Given | Problem) -> None:
        """Write down what became of a label."""
        problem = answer if isinstance(answer, Problem) else answer.error
        if isinstance(answer, Given) and problem is None:
            self._ledger.acknowledge(label, way, time.monotonic(), answer.version, duplicate=answer.duplicate)
        elif problem is not None and problem.type == FORGOTTEN:
            self._ledger.acknowledge_forgotten(label, way, time.monotonic())
        else:
            self._ledger.surprised(f"{problem} for a label {way}")
            self._ledger.given_up.append(label.feedback_id)

    async def _sent(self, path: bytes, body: bytes) -> Reply | None:
        """The answer of whoever takes it; None, after a moment, if nobody does."""
        try:
            return await self._balancer.post(path, body)
        except NobodyAnswers:
            await asyncio.sleep(PAUSE_SECONDS)
            return None


def _read(reply: Reply, kind: type[Answer]) -> Answer | Problem:
    """The answer that was to come, or what came instead."""
    try:
        if reply.status == OK:
            return msgspec.json.decode(reply.body, type=kind)
        return msgspec.json.decode(reply.body, type=Problem)
    except msgspec.MsgspecError as error:
        return Problem(f"which cannot be read ({error}): {reply.body[:200]!r}", reply.status)
