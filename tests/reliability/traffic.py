"""Many clients that give feedback concurrently, and record which of it was acknowledged."""

import threading
import time
from collections.abc import Sequence
from itertools import count
from typing import Any, Self

import httpx

from tests.services import Service, new_client, wait_until

RETRIABLE = frozenset({503})  # any other error fails the test
PAUSE_SECONDS = 0.05


def feedback(k: int) -> dict[str, Any]:
    """Return the k-th example of a fixed stream: 1 in 4 is an anomaly, and mostly looks like one."""
    label = 1 if k % 4 == 0 else -1
    kind = label if k % 11 else -label
    names = [f"{'bad' if kind > 0 else 'good'}:{(k * 7919 + j * 104_729) % 40}" for j in range(3)]
    names += [f"word:{(k * 31 + j * 17) % 200}" for j in range(5)]
    return {"features": {name: 1 + (k + j) % 3 / 4 for j, name in enumerate(names)}, "label": label}


class Feeder:
    """Threads that give feedback through several services until they are stopped, each example with its own id.

    With `retry`, an id is sent again through the next service until it is acknowledged.
    """

    def __init__(
        self, services: Sequence[Service], tenant: str, *, clients: int = 6, retry: bool = False, prefix: str = "f"
    ) -> None:
        self.tenant = tenant
        self.acknowledged: dict[str, dict[str, Any]] = {}
        self.refused: dict[str, str] = {}  # and the reason
        self.problems: list[httpx.Response] = []
        self.surprises: list[str] = []  # unexpected answers
        self._services = services
        self._retry = retry
        self._prefix = prefix
        self._numbers = count()
        self._enough = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(k,), daemon=True) for k in range(clients)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Let every client finish its request; with `retry`, until that is acknowledged."""
        self._enough.set()
        for thread in self._threads:
            thread.join(30)
            assert not thread.is_alive(), "a client of the feeder hangs"
        assert not self.surprises, self.surprises[:3]

    def wait_for(self, more: int) -> None:
        """Wait until this many more are acknowledged."""
        goal = len(self.acknowledged) + more
        wait_until(
            lambda: len(self.acknowledged) >= goal or bool(self.surprises),
            f"after {len(self.acknowledged)} labels no more are acknowledged: {list(self.refused.items())[-3:]}",
            30,
        )

    def _run(self, client: int) -> None:
        with new_client() as http:
            while not self._enough.is_set():
                self._give(http, client, next(self._numbers))

    def _give(self, http: httpx.Client, turn: int, number: int) -> None:
        feedback_id = f"{self._prefix}-{number}"
        while not self._is_given(http, self._services[turn % len(self._services)], feedback_id, number):
            turn += 1
            time.sleep(PAUSE_SECONDS)  # leave the processor to a service that is starting
            if not self._retry or self.surprises:
                return

    def _is_given(self, http: httpx.Client, service: Service, feedback_id: str, number: int) -> bool:
        body = {"tenant": self.tenant, "feedback_id": feedback_id, **feedback(number)}
        try:
            answer = http.post(service.url + "/feedback", json=body)
        except httpx.TransportError as error:
            self.refused[feedback_id] = repr(error)
            return False
        if answer.status_code == httpx.codes.OK:
            self.acknowledged[feedback_id] = answer.json()
            return True
        self.refused[feedback_id] = answer.text
        self.problems.append(answer)
        if answer.status_code not in RETRIABLE:
            self.surprises.append(f"{feedback_id}: {answer.status_code} {answer.text}")
        return False


def feed(services: Sequence[Service], tenant: str, number: int, **options: Any) -> Feeder:  # noqa: ANN401 - the feeder's
    """Give feedback until this many labels are acknowledged."""
    with Feeder(services, tenant, **options) as feeder:
        feeder.wait_for(number)
    return feeder
