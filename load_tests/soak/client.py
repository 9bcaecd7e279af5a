"""The clients: they retry a prediction on all services, a label until it is acknowledged, and fill the ledger."""

import asyncio
import json
import time
from array import array
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from load_tests.harness.client import Pool, Response
from load_tests.soak.traffic import Label, Prediction, Traffic

CLIENTS = 8
PER_SECOND = 400.0  # of all clients together: leaves a machine of two cores time for restarts
ROUNDS = 3  # over all services, for a prediction
LABEL_SECONDS = 90.0  # within which a label must be accepted
PAUSE_SECONDS = 0.1
UNEXPECTED_KEPT = 20
OK, GONE, UNAVAILABLE = 200, 410, frozenset({429, 503})
FORGOTTEN = "/problems/feedback-forgotten"  # docs/api.md: "Nothing is to be done: it counts, once."
BY_ID, BY_FEATURES, IN_BATCHES = "by prediction_id", "with features", "in batches"


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """A label that a service has answered with 200."""

    tenant: str
    label: int
    version: int  # 0 if the answer has none


@dataclass(slots=True)
class Ledger:
    """Filled by the thread of the load; others may read its counts at any time. All times are of one clock."""

    acknowledged: dict[str, Acknowledged] = field(default_factory=dict)  # by feedback_id
    acknowledged_at: "array[float]" = field(default_factory=lambda: array("d"))
    forms: Counter[str] = field(default_factory=Counter)  # in which acknowledged labels were sent
    duplicates: int = 0  # answers that say so: an earlier attempt arrived, without an answer
    forgotten: int = 0  # answered with 409: they count, though the first answer is no longer known
    given_up: list[str] = field(default_factory=list)  # feedback_ids

    requests: int = 0  # that were answered
    predicted_at: "array[float]" = field(default_factory=lambda: array("d"))
    prediction_seconds: "array[float]" = field(default_factory=lambda: array("d"))  # from the first attempt on
    predictions_failed: int = 0
    predictions_not_kept: int = 0  # answered without an id, as while the store is away
    expired: int = 0  # labels by prediction_id that were answered with 410, and sent with their features

    passed_on: Counter[str] = field(default_factory=Counter)  # why another service was asked
    sent_again: int = 0  # labels that no service had accepted at first
    unexpected: Counter[str] = field(default_factory=Counter)  # answers that must not come

    def acknowledge(self, label: Label, form: str, version: int, *, duplicate: bool) -> None:
        """From now on this label must never be lost."""
        self.acknowledged[label.feedback_id] = Acknowledged(label.tenant, label.label, version)
        self.acknowledged_at.append(time.monotonic())
        self.forms[form] += 1
        self.duplicates += duplicate

    def note_unexpected(self, text: str) -> None:
        """Count an answer that must not come; only the first different ones are kept in words."""
        known = text in self.unexpected or len(self.unexpected) < UNEXPECTED_KEPT
        self.unexpected[text if known else "others"] += 1


class Balancer:
    """All services in turn, as behind a load balancer: one that does not answer, or is unavailable, is passed over."""

    def __init__(self, ports: Sequence[int], ledger: Ledger) -> None:
        self._pools = [Pool(port) for port in ports]
        self._ledger = ledger
        self._turns = count()

    async def post(self, path: str, body: bytes) -> Response | None:
        """The first answer of a service that is there and has time; None, after a pause, if there is none."""
        first = next(self._turns)
        for turn in range(first, first + len(self._pools)):
            pool = self._pools[turn % len(self._pools)]
            try:
                response = await pool.send("POST", path, body)
            except (OSError, EOFError, ValueError) as error:
                pool.close()  # the other connections are most likely dead, too
                self._ledger.passed_on[type(error).__name__] += 1
                continue
            if response.status not in UNAVAILABLE:
                self._ledger.requests += 1
                return response
            self._ledger.passed_on[f"answered with {response.status}"] += 1
        await asyncio.sleep(PAUSE_SECONDS)
        return None

    def close(self) -> None:
        """Close all connections."""
        for pool in self._pools:
            pool.close()


class Client:
    """Sends requests through a balancer, and writes the outcome to the ledger."""

    def __init__(self, balancer: Balancer, ledger: Ledger) -> None:
        self._balancer = balancer
        self._ledger = ledger

    async def predict(self, request: Prediction) -> str:
        """Return the id for a later label; empty if the input was not kept, or no service answered."""
        begin = time.monotonic()
        for _ in range(ROUNDS):
            if (response := await self._balancer.post("/predict", request.body)) is None:
                continue
            answer = _read(response, "prediction_id", "score")
            if "status" in answer:
                self._ledger.note_unexpected(_problem(answer))
                break
            self._ledger.predicted_at.append(begin)
            self._ledger.prediction_seconds.append(time.monotonic() - begin)
            self._ledger.predictions_not_kept += answer["prediction_id"] is None
            return answer["prediction_id"] or ""
        self._ledger.predictions_failed += 1
        return ""

    async def give(self, label: Label) -> None:
        """Send a label until it is acknowledged, always under the same id."""
        form = BY_ID if label.prediction_id else BY_FEATURES
        deadline = time.monotonic() + LABEL_SECONDS
        while time.monotonic() < deadline:
            if (response := await self._balancer.post("/feedback", label.body)) is None:
                self._ledger.sent_again += 1
            elif response.status == GONE and label.prediction_id:
                self._ledger.expired += 1
                label = replace(label, prediction_id="")
            else:
                self._settle(label, form, _read(response, "version"))
                return
        self._ledger.given_up.append(label.feedback_id)

    async def give_all(self, labels: list[Label]) -> None:
        """Send a batch until it is acknowledged: it goes into the log as a whole, or not at all."""
        items = ",".join(label.item for label in labels)
        body = f'{{"tenant":"{labels[0].tenant}","items":[{items}]}}'.encode()
        deadline = time.monotonic() + LABEL_SECONDS
        while time.monotonic() < deadline:
            if (response := await self._balancer.post("/feedback/batch", body)) is not None:
                answer = _read(response, "results")
                for label, each in zip(labels, answer.get("results", [answer] * len(labels)), strict=True):
                    self._settle(label, IN_BATCHES, each.get("error") or each)
                return
            self._ledger.sent_again += 1
        self._ledger.given_up += [label.feedback_id for label in labels]

    def _settle(self, label: Label, form: str, answer: dict[str, Any]) -> None:
        """Note the final answer to a label."""
        if "status" not in answer:
            self._ledger.acknowledge(label, form, answer["version"], duplicate=answer.get("duplicate", False))
        elif answer["type"] == FORGOTTEN:
            self._ledger.forgotten += 1
            self._ledger.acknowledge(label, form, version=0, duplicate=True)
        else:
            self._ledger.note_unexpected(f"{_problem(answer)} for a label {form}")
            self._ledger.given_up.append(label.feedback_id)


def _read(response: Response, *fields: str) -> dict[str, Any]:
    """The answer with these fields, or a problem, which has a status."""
    try:
        answer = json.loads(response.body)
        if all(name in answer for name in (fields if response.status == OK else ("type", "status"))):
            return dict(answer)
    except (ValueError, TypeError):
        pass
    return {"type": f"with an invalid body: {response.body[:200]!r}", "status": response.status}


def _problem(answer: dict[str, Any]) -> str:
    return f"{answer['status']} {answer['type']}"


class Load:
    """Clients that each send a request, wait for the answer, and pause, until `stop`."""

    def __init__(self, ports: Sequence[int]) -> None:
        self.ledger = Ledger()
        self._balancer = Balancer(ports, self.ledger)
        self._client = Client(self._balancer, self.ledger)
        self._traffic = Traffic()
        self._enough = asyncio.Event()

    async def teach(self) -> None:
        """Give every tenant its vocabulary."""
        for label in self._traffic.first_labels():
            await self._client.give(label)

    def stop(self) -> None:
        """Let every client finish; labels that moderators would give later are given now."""
        self._enough.set()

    async def run(self) -> None:
        """Send requests until `stop`, and return when all are answered."""
        try:
            async with asyncio.TaskGroup() as tasks:
                for number in range(CLIENTS):
                    tasks.create_task(self._send_all(number, tasks))
        finally:
            self._balancer.close()

    async def _send_all(self, number: int, tasks: asyncio.TaskGroup) -> None:
        """At a steady pace, but never two at once: a slow answer makes this client slower."""
        pace = CLIENTS / PER_SECOND
        due = time.monotonic() + pace * number / CLIENTS
        while not self._enough.is_set():
            await asyncio.sleep(due - time.monotonic())
            match request := self._traffic.next_request():
                case Prediction():
                    prediction_id = await self._client.predict(request)
                    if request.label_after_seconds is not None:
                        label = self._traffic.label(request.tenant, request.example, prediction_id)
                        tasks.create_task(self._give_later(label, request.label_after_seconds))
                case Label():
                    await self._client.give(request)
                case _:
                    await self._client.give_all(request)
            due = max(due + pace, time.monotonic())

    async def _give_later(self, label: Label, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._enough.wait()
        await self._client.give(label)
