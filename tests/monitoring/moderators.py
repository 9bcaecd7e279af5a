"""Traffic for tests of the metrics: moderators give labels by every route and record the answers."""

import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Self

import httpx

from app.learning.parts.confusion import Confusion
from tests.reliability.traffic import feedback
from tests.services import Service, new_client

WORDS = {1: "anomaly", -1: "normal"}
PAUSE_SECONDS = 0.02

Cell = tuple[str, str, str]  # tenant, label, verdict


@dataclass
class Counts:
    """Counts of the answers: labels by tenant, label and verdict, predictions by tenant."""

    given: Counter[Cell] = field(default_factory=Counter)
    served: Counter[Cell] = field(default_factory=Counter)
    predictions: Counter[str] = field(default_factory=Counter)
    duplicates: int = 0

    def add_label(self, answer: dict[str, Any]) -> None:
        tenant, label = answer["tenant"], WORDS[answer["label"]]
        if answer["duplicate"]:
            self.duplicates += 1
            return
        self.given[tenant, label, WORDS[answer["predicted"]]] += 1
        if answer["served"]:
            self.served[tenant, label, WORDS[answer["served"]["label"]]] += 1


def confusion(cells: Counter[Cell], tenant: str) -> Confusion:
    """The counts of one tenant, for the same arithmetic that evaluation uses."""
    normal = [cells[tenant, "normal", verdict] for verdict in ("normal", "anomaly")]
    return Confusion(*normal, *[cells[tenant, "anomaly", verdict] for verdict in ("normal", "anomaly")])


class Moderator:
    """Labels examples of a tenant on short connections, and so through all workers of a service."""

    def __init__(self, service: Service, tenant: str, counts: Counts, first: int) -> None:
        self.service = service
        self.tenant = tenant
        self.counts = counts
        self._numbers = count(first)

    def work(self) -> None:
        """One label of each kind: for a prediction, for features, twice with one id, in a batch."""
        with new_client() as client:
            for way in (self._by_prediction, self._by_features, self._twice, self._in_a_batch):
                way(client)

    def _by_prediction(self, client: httpx.Client) -> None:
        example = feedback(next(self._numbers))
        answer = self._post(client, "/predict", {"features": example["features"]})
        self.counts.predictions[self.tenant] += 1
        body = {"prediction_id": answer["prediction_id"], "label": example["label"]}
        self.counts.add_label(self._post(client, "/feedback", body))

    def _by_features(self, client: httpx.Client) -> None:
        self.counts.add_label(self._post(client, "/feedback", feedback(next(self._numbers))))

    def _twice(self, client: httpx.Client) -> None:
        number = next(self._numbers)
        for _ in range(2):
            body = feedback(number) | {"feedback_id": f"again-{number}"}
            self.counts.add_label(self._post(client, "/feedback", body))

    def _in_a_batch(self, client: httpx.Client) -> None:
        items = [feedback(next(self._numbers)) for _ in range(3)]
        for result in self._post(client, "/feedback/batch", {"items": items})["results"]:
            self.counts.add_label({"tenant": self.tenant} | result)

    def _post(self, client: httpx.Client, path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = client.post(self.service.url + path, json={"tenant": self.tenant} | body)
        assert answer.status_code == httpx.codes.OK, answer.text
        body_out: dict[str, Any] = answer.json()
        return body_out


class Visitors:
    """Background requests: predictions that are not kept, and client errors."""

    def __init__(self, services: Sequence[Service], tenant: str) -> None:
        self._services = services
        self._tenant = tenant
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join(20)
        assert not self._thread.is_alive(), "a visitor hangs"

    def _run(self) -> None:
        for number in count():
            if self._stopped.is_set():
                return
            with new_client() as client:
                self._visit(client, number)
            time.sleep(PAUSE_SECONDS)

    def _visit(self, client: httpx.Client, number: int) -> None:
        url = self._services[number % len(self._services)].url
        features = feedback(number)["features"]
        client.post(url + "/predict", json={"tenant": self._tenant, "features": features, "keep": False})
        client.post(url + "/predict", json={"tenant": self._tenant, "features": {}})  # 422
        client.get(url + "/tenants/unknown")  # 404
        client.get(url + "/nowhere")  # 404, and no route
