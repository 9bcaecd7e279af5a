"""Replays a labelled stream against a service: a prediction for each item, and some items later a moderator's label."""

import heapq
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from http import HTTPStatus
from random import Random
from typing import Any, Final

from app.cli.client import Client, RequestRefused
from app.cli.demo.tally import Label, Tally
from app.datasets.synthetic_urls import SyntheticUrl

CONNECTIONS: Final = 8  # concurrent requests, at most
DELAY: Final = (5, 40)  # items between a prediction and its label
MOST_BEHIND_SECONDS: Final = 1.0  # a slow moment is made up for, an outage is not
UPDATE_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True, order=True)
class Unlabelled:
    """A prediction whose label is due when item `due` has been predicted."""

    due: int
    number: int
    item: SyntheticUrl = field(compare=False)
    prediction_id: str | None = field(compare=False)
    served: int = field(compare=False)


class Replay:
    """One run. Predictions and labels keep the order of the items as long as an answer comes before the next item."""

    def __init__(self, client: Client, tenant: str, seed: int) -> None:
        self.tally = Tally()
        self._client = client
        self._tenant = tenant
        self._delays = Random(seed)  # noqa: S311 - the delays of moderators are not secret
        self._run = secrets.token_hex(4)  # makes the feedback ids of this run unique
        self._unlabelled: list[Unlabelled] = []
        self._lock = threading.Lock()

    def run(self, items: Iterator[SyntheticUrl], rate: float, update: Callable[[], None]) -> None:
        """Send all items, `rate` per second, then the labels that are left; call `update` often."""
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            try:
                self._play(pool, items, rate, update)
            except BaseException:
                self._client.cancel()
                pool.shutdown(wait=True, cancel_futures=True)
                raise

    def _play(
        self, pool: ThreadPoolExecutor, items: Iterator[SyntheticUrl], rate: float, update: Callable[[], None]
    ) -> None:
        running: set[Future[None]] = set()
        due = time.monotonic()
        for number, item in enumerate(items):
            due = max(due + 1.0 / rate, time.monotonic() - MOST_BEHIND_SECONDS)
            while (early := due - time.monotonic()) > 0.0 or len(running) >= CONNECTIONS:
                update()
                running = _unfinished(running, min(max(early, 0.001), UPDATE_SECONDS))
            running.add(pool.submit(self._predict, number, item, self._delays.randint(*DELAY)))
        while running:
            update()
            running = _unfinished(running, UPDATE_SECONDS)
        for prediction in sorted(self._unlabelled):
            self._label(prediction)
            update()

    def _predict(self, number: int, item: SyntheticUrl, delay: int) -> None:
        """Request a prediction, then send the labels that are due."""
        answer = self._client.post("/predict", {"tenant": self._tenant, "url": item.url})
        prediction = Unlabelled(number + delay, number, item, answer["prediction_id"], answer["label"])
        due: list[Unlabelled] = []
        with self._lock:
            heapq.heappush(self._unlabelled, prediction)
            while self._unlabelled[0].due <= number:
                due.append(heapq.heappop(self._unlabelled))
        for each in due:
            self._label(each)

    def _label(self, prediction: Unlabelled) -> None:
        answer = self._send_label(prediction)
        if answer["predicted"] is not None:  # unknown for a label that was learnt long ago
            label = Label(prediction.item.label, answer["predicted"], prediction.served)
            self.tally.add(prediction.item, label)

    def _send_label(self, prediction: Unlabelled) -> dict[str, Any]:
        """Send feedback by prediction id, or by URL if the service does not have the prediction any more."""
        body = {"tenant": self._tenant, "label": prediction.item.label, "moderator": "demo"}
        body["feedback_id"] = f"demo-{self._run}-{prediction.number}"  # a retry must not be learnt twice
        if prediction.prediction_id is not None:
            try:
                return self._client.post("/feedback", {**body, "prediction_id": prediction.prediction_id})
            except RequestRefused as refused:
                if refused.status != HTTPStatus.GONE:
                    raise
        return self._client.post("/feedback", {**body, "url": prediction.item.url})


def _unfinished(running: set[Future[None]], seconds: float) -> set[Future[None]]:
    """Wait a little; raise the error of a thread here."""
    if not running:
        time.sleep(seconds)
        return running
    done, unfinished = wait(running, seconds, FIRST_COMPLETED)
    for each in done:
        each.result()
    return unfinished
