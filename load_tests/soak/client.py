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
OK, GONE, UNAVAILABLE = 200, 410, frozenset({429, 503})
FORGOTTEN = "/problems/feedback-forgotten"  # docs/api.md: "Nothing is to be done: it counts, once."


@dataclass(frozen=True, slots=True)
class StoredLabel:
    """A label that a service has acknowledged, or that a log has."""

    tenant: str
    feedback_id: str
    label: int
    version: int  # 0 if the answer has none


@dataclass(slots=True)
class Ledger:
    """The outcome of all requests. All times are of one clock."""

    acknowledged: dict[str, StoredLabel] = field(default_factory=dict)  # by feedback_id
    acknowledged_at: "array[float]" = field(default_factory=lambda: array("d"))
    forms: Counter[str] = field(default_factory=Counter)  # in which acknowledged labels were sent
    duplicates: int = 0  # answers that say so: an earlier attempt arrived, without an answer
    forgotten: int = 0  # answered with 409: they count, though the first answer is no longer known
    given_up: list[str] = field(default_factory=list)  # feedback_ids
    expired: int = 0  # labels by prediction_id that were answered with 410, and sent with their features
    sent_again: int = 0  # labels that no service had accepted at first

    requests: int = 0  # that were answered
    predicted_at: "array[float]" = field(default_factory=lambda: array("d"))
    prediction_seconds: "array[float]" = field(default_factory=lambda: array("d"))  # from the first attempt on
    predictions_failed: int = 0
    predictions_not_kept: int = 0  # answered without an id, as while the store is away
    passed_on: Counter[str] = field(default_factory=Counter)  # why another service was asked
    unexpected: Counter[str] = field(default_factory=Counter)  # answers that must not come

    def acknowledge(self, label: Label, form: str, version: int, *, duplicate: bool) -> None:
        """From now on this label must never be lost."""
        self.acknowledged[label.feedback_id] = StoredLabel(label.tenant, label.feedback_id, label.label, version)
        self.acknowledged_at.append(time.monotonic())
        self.forms[form] += 1
        self.duplicates += duplicate

    def note_unexpected(self, answer: dict[str, Any], form: str) -> None:
        self.unexpected[f"{answer['status']} {answer['type']} for {form}"] += 1


class Client:
    """Asks all services in turn, as a load balancer does, and writes the outcome to the ledger."""

    def __init__(self, pools: Sequence[Pool], ledger: Ledger) -> None:
        self._pools = pools
        self._turns = count()
        self._ledger = ledger

    async def predict(self, request: Prediction) -> str:
        """Return the id for a later label; empty if the input was not kept, or no service answered."""
        begin = time.monotonic()
        body = f'{{"tenant":"{request.tenant}","features":{request.features}}}'
        for _ in range(ROUNDS):
            if (response := await self._post("/predict", body)) is None:
                continue
            answer = _read(response, "prediction_id", "score")
            if "status" in answer:
                self._ledger.note_unexpected(answer, "a prediction")
                break
            self._ledger.predicted_at.append(begin)
            self._ledger.prediction_seconds.append(time.monotonic() - begin)
            self._ledger.predictions_not_kept += answer["prediction_id"] is None
            return answer["prediction_id"] or ""
        self._ledger.predictions_failed += 1
        return ""

    async def give(self, *labels: Label) -> None:
        """Send labels of one tenant until they are acknowledged, under the same ids; a batch is logged as a whole."""
        form = "in batches" if len(labels) > 1 else "by prediction_id" if labels[0].prediction_id else "with features"
        deadline = time.monotonic() + LABEL_SECONDS
        while time.monotonic() < deadline:
            if len(labels) > 1:
                path, wanted, items = "/feedback/batch", "results", ",".join(f"{{{label.item}}}" for label in labels)
                body = f'{{"tenant":"{labels[0].tenant}","items":[{items}]}}'
            else:
                path, wanted, body = "/feedback", "version", f'{{"tenant":"{labels[0].tenant}",{labels[0].item}}}'
            if (response := await self._post(path, body)) is None:
                self._ledger.sent_again += 1
            elif response.status == GONE and labels[0].prediction_id:
                self._ledger.expired += 1
                labels = (replace(labels[0], prediction_id=""),)
            else:
                answer = _read(response, wanted)
                for label, each in zip(labels, answer.get("results", [answer] * len(labels)), strict=True):
                    self._settle(label, form, each.get("error") or each)
                return
        self._ledger.given_up += [label.feedback_id for label in labels]

    def close(self) -> None:
        for pool in self._pools:
            pool.close()

    async def _post(self, path: str, body: str) -> Response | None:
        """The first answer of a service that is there and has time; None, after a pause, if there is none."""
        first = next(self._turns)
        for turn in range(first, first + len(self._pools)):
            pool = self._pools[turn % len(self._pools)]
            try:
                response = await pool.send("POST", path, body.encode())
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

    def _settle(self, label: Label, form: str, answer: dict[str, Any]) -> None:
        if "status" not in answer:
            self._ledger.acknowledge(label, form, answer["version"], duplicate=answer.get("duplicate", False))
        elif answer["type"] == FORGOTTEN:
            self._ledger.forgotten += 1
            self._ledger.acknowledge(label, form, version=0, duplicate=True)
        else:
            self._ledger.note_unexpected(answer, f"a label {form}")
            self._ledger.given_up.append(label.feedback_id)


def _read(response: Response, *fields: str) -> dict[str, Any]:
    """The answer with these fields, or a problem, which has a status."""
    with suppress(ValueError, TypeError):
        answer = json.loads(response.body)
        if all(name in answer for name in (fields if response.status == OK else ("type", "status"))):
            return dict(answer)
    return {"type": f"with an invalid body: {response.body[:200]!r}", "status": response.status}


class Load:
    """Clients that each send a request, wait for the answer, and pause, until `stop`."""

    def __init__(self, ports: Sequence[int]) -> None:
        self.ledger = Ledger()
        self._client = Client([Pool(port) for port in ports], self.ledger)
        self._traffic = Traffic()
        self._enough = asyncio.Event()

    async def teach(self) -> None:
        for label in self._traffic.first_labels():
            await self._client.give(label)

    def stop(self) -> None:
        """Let every client finish; labels that moderators would give later are given now."""
        self._enough.set()

    async def run(self) -> None:
        try:
            async with asyncio.TaskGroup() as tasks:
                for number in range(CLIENTS):
                    tasks.create_task(self._send_all(number, tasks))
        finally:
            self._client.close()

    async def _send_all(self, number: int, tasks: asyncio.TaskGroup) -> None:
        """At a steady pace, but never two at once: a slow answer makes this client slower."""
        pace = CLIENTS / PER_SECOND
        due = time.monotonic() + pace * number / CLIENTS
        while not self._enough.is_set():
            await asyncio.sleep(due - time.monotonic())
            request = self._traffic.next_request()
            if not isinstance(request, Prediction):
                await self._client.give(*request)
            else:
                prediction_id = await self._client.predict(request)
                if request.label_after_seconds is not None:
                    label = self._traffic.label(request.tenant, request.features, prediction_id)
                    tasks.create_task(self._give_later(label, request.label_after_seconds))
            due = max(due + pace, time.monotonic())

    async def _give_later(self, label: Label, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._enough.wait()
        await self._client.give(label)
