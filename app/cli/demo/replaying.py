"""Playing a labelled stream against a service: a prediction for each item, and some items later a moderator's label."""

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

from app.cli.demo.asking import Client, RequestRefused
from app.cli.demo.tallying import Given, Tally
from app.datasets.synthetic_urls import SyntheticUrl

CONNECTIONS: Final = 8  # requests under way at the same time, at most
DELAY: Final = (5, 40)  # items that pass before a moderator has come to one
MOST_BEHIND_SECONDS: Final = 1.0  # what a slow moment has cost is made up for, but not an outage
LOOK_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True, order=True)
class Asked:
    """An item that waits for its moderator, who comes when item `due` has been asked about."""

    due: int
    number: int
    item: SyntheticUrl = field(compare=False)
    prediction_id: str | None = field(compare=False)
    served: int = field(compare=False)


class Replay:
    """One run. Items are asked about, and labels given, in order, as far as one answer comes before the next item."""

    def __init__(self, client: Client, tenant: str, seed: int) -> None:
        self.tally = Tally()
        self._client = client
        self._tenant = tenant
        self._delays = Random(seed)  # noqa: S311 - how long moderators take is no secret
        self._run = secrets.token_hex(4)  # another run's labels are other labels
        self._waiting: list[Asked] = []
        self._lock = threading.Lock()

    def run(self, items: Iterator[SyntheticUrl], rate: float, look: Callable[[], None]) -> None:
        """Play all items, so many in a second, and give the labels that are left; `look` is called often meanwhile."""
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            try:
                self._play(pool, items, rate, look)
            except BaseException:
                self._client.give_up()
                pool.shutdown(wait=True, cancel_futures=True)
                raise

    def _play(
        self, pool: ThreadPoolExecutor, items: Iterator[SyntheticUrl], rate: float, look: Callable[[], None]
    ) -> None:
        running: set[Future[None]] = set()
        due = time.monotonic()
        for number, item in enumerate(items):
            due = max(due + 1.0 / rate, time.monotonic() - MOST_BEHIND_SECONDS)
            while (early := due - time.monotonic()) > 0.0 or len(running) >= CONNECTIONS:
                look()
                running = _unfinished(running, min(max(early, 0.001), LOOK_SECONDS))
            running.add(pool.submit(self._turn, number, item, self._delays.randint(*DELAY)))
        while running:
            look()
            running = _unfinished(running, LOOK_SECONDS)
        for asked in sorted(self._waiting):
            self._label(asked)
            look()

    def _turn(self, number: int, item: SyntheticUrl, delay: int) -> None:
        """Ask about an item, then give the labels for which it is time."""
        told = self._client.post("/predict", {"tenant": self._tenant, "url": item.url})
        asked = Asked(number + delay, number, item, told["prediction_id"], told["label"])
        for each in self._due(number, asked):
            self._label(each)

    def _due(self, number: int, asked: Asked) -> list[Asked]:
        with self._lock:
            heapq.heappush(self._waiting, asked)
            found = []
            while self._waiting[0].due <= number:
                found.append(heapq.heappop(self._waiting))
            return found

    def _label(self, asked: Asked) -> None:
        told = self._give(asked)
        if told["predicted"] is not None:  # of a label that was learnt long ago, no more is known
            self.tally.add(asked.item, Given(asked.item.label, told["predicted"], asked.served))

    def _give(self, asked: Asked) -> dict[str, Any]:
        """By the prediction's id; by the URL, if the service could not keep it, or has lost it."""
        body = {"tenant": self._tenant, "label": asked.item.label, "moderator": "demo"}
        body["feedback_id"] = f"demo-{self._run}-{asked.number}"  # asking twice must not teach twice
        if asked.prediction_id is not None:
            try:
                return self._client.post("/feedback", {**body, "prediction_id": asked.prediction_id})
            except RequestRefused as refused:
                if refused.status != HTTPStatus.GONE:
                    raise
        return self._client.post("/feedback", {**body, "url": asked.item.url})


def _unfinished(running: set[Future[None]], seconds: float) -> set[Future[None]]:
    """Wait a little; what went wrong in a thread goes wrong here."""
    if not running:
        time.sleep(seconds)
        return running
    done, unfinished = wait(running, seconds, FIRST_COMPLETED)
    for each in done:
        each.result()
    return unfinished
