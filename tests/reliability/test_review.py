"""20 reviewers at once while services are killed: no item is leased twice at once, lost, or shown after its label."""

import random
import threading
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Self

import httpx
import pytest

from load_tests.torture.history import Attempt, Found, History, Kind, Operation
from load_tests.torture.leases import doubled_leases, lost_items, passed_leases, settled_leases
from tests.reliability.deployments import SERVER, Deployment, deployment
from tests.reviews import queue
from tests.services import Service, new_client

pytestmark = pytest.mark.timeout(300)
SECONDS = 60
REVIEWERS = 20
ITEMS = 300
LEASE_SECONDS = 3
DECISIONS = {"label": 6, "skip": 2, "unsure": 2, "release": 1, "renew": 1, "forget": 2}
PAUSE_SECONDS = 0.1  # leaves the processor to a service that is starting


class Crew:
    """Reviewers in threads; every request and its answer is in the history."""

    def __init__(self, services: Sequence[Service], seed: int) -> None:
        self.history = History()
        self.surprises: list[str] = []
        self.enough = threading.Event()
        self._services = services
        self._seed = seed
        self._lock = threading.Lock()
        self._numbers = count()
        self._threads = [threading.Thread(target=self._run, args=(k,), daemon=True) for k in range(REVIEWERS)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.enough.set()
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive(), "a reviewer hangs"
        assert not self.surprises, self.surprises[:3]

    def _run(self, number: int) -> None:
        dice, person = random.Random(f"{self._seed}/{number}"), f"person-{number}"  # noqa: S311 - it need not be secret
        with new_client() as http:
            while not self.enough.is_set():
                wanted = {"moderator": person, "lease_seconds": LEASE_SECONDS, "limit": dice.randrange(1, 3)}
                lease = self._operation(Kind.LEASE, **wanted)
                found = self._send(http, lease, dice, "GET", "/tenants/acme/review", params=wanted | {"explain": 0})
                for item in found.answer["items"] if found.acknowledged else ():
                    self._decide(http, dice, person, item)
                time.sleep(PAUSE_SECONDS)

    def _decide(self, http: httpx.Client, dice: random.Random, person: str, item: dict[str, str]) -> None:
        time.sleep(dice.choice((0.0, 0.1, 0.5)))
        (decision,) = dice.choices(list(DECISIONS), list(DECISIONS.values()))
        prediction_id = item["prediction_id"]
        if decision == "label":
            label = self._operation(Kind.LABEL, tenant="acme", label=1, prediction_id=prediction_id, moderator=person)
            with self._lock:
                self.history.reviewed[label.name] = prediction_id
            self._persist(http, label, dice, "/feedback", label.wanted | {"feedback_id": label.name})
        elif decision != "forget":
            body: dict[str, object] = {"action": decision, "lease": item["lease"], "moderator": person}
            if decision == "renew":
                body["lease_seconds"] = LEASE_SECONDS
            ending = self._operation(Kind.END_LEASE, prediction_id=prediction_id, **body)
            self._persist(http, ending, dice, f"/tenants/acme/review/{prediction_id}", body)

    def _operation(self, kind: Kind, **wanted: object) -> Operation:
        with self._lock:
            return self.history.add(Operation(kind, "acme", f"{kind}-{next(self._numbers)}", wanted))

    def _persist(self, http: httpx.Client, operation: Operation, dice: random.Random, path: str, body: object) -> None:
        while self._send(http, operation, dice, "POST", path, json=body).is_retried:
            time.sleep(PAUSE_SECONDS)

    def _send(
        self,
        http: httpx.Client,
        operation: Operation,
        dice: random.Random,
        method: str,
        path: str,
        **options: object,
    ) -> Attempt:
        begin, status, answer = time.monotonic(), 0, {}
        try:
            found = http.request(method, dice.choice(self._services).url + path, **options)  # type: ignore[arg-type]
            status, answer = found.status_code, found.json()
        except httpx.TransportError:
            pass
        if status not in {0, 200, 409, 503}:
            self.surprises.append(f"{operation.kind}: {status} {answer}")
        attempt = Attempt(0, "", begin, time.monotonic(), status, answer)
        with self._lock:
            self.history.note(operation, attempt)
        return attempt


def shown_in_the_end(service: Service) -> set[str]:
    """Everything that new reviewers are shown."""
    found: set[str] = set()
    for number in count():
        path = f"/tenants/acme/review?limit=100&explain=0&moderator=last-{number}"
        items = service.request("GET", path).raise_for_status().json()["items"]
        if not items:
            return found
        found |= {item["prediction_id"] for item in items}
    raise AssertionError("count() ends")


def labelled(service: Service) -> set[str]:
    found = service.request("GET", "/tenants/acme/labels?limit=1000").raise_for_status().json()["labels"]
    return {label["prediction_id"] for label in found}


@pytest.mark.e2e
def test_reviewers_share_a_queue_while_services_are_killed(tmp_path: Path) -> None:
    with deployment(SERVER, tmp_path, number=2, workers=2) as deployed:
        first, second = deployed.services
        assert first.feedback("acme", label=-1, features={"a": 1.0}).is_success
        ids = queue(deployed.url, "acme", [float(number % 7) if number % 3 else None for number in range(ITEMS)])
        with Crew(deployed.services, seed=60) as crew:
            end = time.monotonic() + SECONDS
            while time.monotonic() < end:
                disturb(deployed, crew)
        time.sleep(LEASE_SECONDS + 0.5)  # until every lease has ended
        queues = {"acme": shown_in_the_end(second)}
        unlabelled = {"acme": set(ids) - labelled(first)}
        found = Found(queues=queues, unlabelled=unlabelled)
        for check in (doubled_leases, settled_leases, passed_leases, lost_items):
            assert list(check(crew.history, found)) == []
        leases = [each for lease in crew.history.of(Kind.LEASE) for each in lease.acknowledgements]
        assert sum(len(each.answer["items"]) for each in leases) > ITEMS // 4
        assert queues["acme"] <= unlabelled["acme"]
        assert labelled(first) - {None}


def disturb(deployed: Deployment, crew: Crew) -> None:
    """Kill a worker, then a whole service, then the store; each comes back."""
    first, second = deployed.services
    time.sleep(0.5)
    first.kill_worker()
    time.sleep(0.5)
    second.kill()
    second.start()
    time.sleep(0.5)
    deployed.server.kill()
    time.sleep(0.2)
    deployed.server.start()
    assert not crew.surprises, crew.surprises[:3]
