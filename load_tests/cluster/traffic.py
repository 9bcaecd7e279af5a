"""Traffic that continues while something is done to the deployment, and the outcome of every request."""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import count, cycle
from typing import Self

from load_tests.cluster.services import NO_ANSWER, Answer, Deployment, label, new_id

PAUSE_SECONDS = 0.005  # leaves the machine time for what is done
RETRY_SECONDS = 0.05
ERROR = 500  # must never come; a client sends the label again all the same
RETRIED = (503, NO_ANSWER, ERROR)


class Traffic(ABC):
    """Clients that send one request after the other until the block ends."""

    def __init__(self, deployment: Deployment, tenants: Sequence[str], clients: int = 4) -> None:
        self._deployment = deployment
        self._tenants = tenants
        self._turns = cycle(tenants)
        self._clients = clients
        self._enough = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.answers: list[Answer] = []

    @abstractmethod
    async def send(self, tenant: str) -> None:
        """Send one request."""

    async def __aenter__(self) -> Self:
        """Begin."""
        self._tasks = [asyncio.create_task(self._run()) for _ in range(self._clients)]
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Let every client finish: a label must be acknowledged."""
        self._enough.set()
        if kind is not None:  # what the clients wait for may never come
            for task in self._tasks:
                task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=kind is not None)

    async def _run(self) -> None:
        while not self._enough.is_set():
            await self.send(next(self._turns))
            await asyncio.sleep(PAUSE_SECONDS)

    async def wait_until(self, holds: Callable[[], bool]) -> None:
        """Wait; raises the error of a client that has ended."""
        while not holds():
            for task in self._tasks:
                if task.done():
                    task.result()
            await asyncio.sleep(0.01)

    def answered(self, status: int) -> int:
        """How many requests were answered so."""
        return sum(answer.status == status for answer in self.answers)


class Moderators(Traffic):
    """Give labels to tenants in turn. One that is refused is sent again, under its id, until it is acknowledged."""

    def __init__(self, deployment: Deployment, tenants: Sequence[str], kind: str, clients: int = 4) -> None:
        super().__init__(deployment, tenants, clients)
        self._kind = kind
        self._numbers = count(1000)
        self.acknowledged: list[tuple[float, float]] = []  # when a label was first sent, and acknowledged

    async def send(self, tenant: str) -> None:
        """Give one label."""
        feedback_id, begin = new_id(self._kind), time.perf_counter()
        body = label(tenant, next(self._numbers), feedback_id)
        while (answer := await self._deployment.router.send(tenant, "POST", "/feedback", body)).status != 200:
            self.answers.append(answer)
            if answer.status not in RETRIED:
                raise RuntimeError(f"a label was answered {answer.status}: {answer.body[:500].decode()}")
            await asyncio.sleep(RETRY_SECONDS)
        self.answers.append(answer)
        self._deployment.acknowledged[tenant].add(feedback_id)
        self.acknowledged.append((begin, time.perf_counter()))

    async def wait_for(self, more: int) -> None:
        """Return when so many more labels that are sent from now on have been acknowledged."""
        goal = len(self.acknowledged) + self._clients + more  # those under way were sent before
        await self.wait_until(lambda: len(self.acknowledged) >= goal)

    @property
    def refused(self) -> int:
        """Attempts that were not acknowledged."""
        return len(self.answers) - self.answered(200)

    def seconds_since(self, moment: float) -> list[float]:
        """How long each label took that was acknowledged since; those under way at that moment count, too."""
        return [end - begin for begin, end in self.acknowledged if end >= moment]


class Readers(Traffic):
    """Ask tenants for predictions, in turn."""

    async def send(self, tenant: str) -> None:
        """Ask for one prediction."""
        self.answers.append(await self._deployment.predict(tenant))

    async def once_around(self) -> None:
        """Return when every tenant has been asked once more."""
        goal = len(self.answers) + len(self._tenants) + self._clients
        await self.wait_until(lambda: len(self.answers) >= goal)
