"""Traffic that goes on while something is done to the deployment, and what became of every request."""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from itertools import count, cycle
from typing import Self

from load_tests.cluster import inputs
from load_tests.cluster.connections import NO_ANSWER, Answer
from load_tests.cluster.stage import Stage

PAUSE_SECONDS = 0.005  # so that the machine has time for what is done
RETRY_SECONDS = 0.05
MISTAKE = 500  # must never be answered; a client sends the label again all the same
NOT_NOW = (503, NO_ANSWER, MISTAKE)


class Traffic(ABC):
    """Clients that ask, one after the other, until the block ends."""

    def __init__(self, clients: int) -> None:
        self._clients = clients
        self._enough = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.answers: list[Answer] = []

    @abstractmethod
    async def ask(self) -> None:
        """Ask the next one."""

    async def __aenter__(self) -> Self:
        """Begin."""
        self._tasks = [asyncio.create_task(self._run()) for _ in range(self._clients)]
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Let every client finish what it has begun: for a label that means to get it acknowledged."""
        self._enough.set()
        if kind is not None:  # what the clients wait for may never come
            for task in self._tasks:
                task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=kind is not None)

    async def _run(self) -> None:
        while not self._enough.is_set():
            await self.ask()
            await asyncio.sleep(PAUSE_SECONDS)

    def check(self) -> None:
        """Raise what went wrong in a client, while others still wait for it."""
        for task in self._tasks:
            if task.done():
                task.result()

    @property
    def refused(self) -> int:
        """Requests that did not get what they asked for."""
        return sum(answer.status != 200 for answer in self.answers)

    @property
    def mistakes(self) -> int:
        """Requests that were answered as if the service were broken."""
        return sum(answer.status == MISTAKE for answer in self.answers)


class Moderators(Traffic):
    """Give labels to tenants in turn. One that is refused is sent again, under its id, until it is acknowledged."""

    def __init__(self, stage: Stage, tenants: Sequence[str], kind: str, clients: int = 4) -> None:
        super().__init__(clients)
        self._stage = stage
        self._kind = kind
        self._turns = cycle(tenants)
        self._numbers = count(1000)
        self.acknowledged: list[tuple[float, float]] = []  # when a label was first sent, and how long that took

    async def ask(self) -> None:
        """Give one label."""
        tenant, feedback_id = next(self._turns), inputs.new_id(self._kind)
        body = inputs.label(tenant, next(self._numbers), feedback_id)
        begin = time.perf_counter()
        while not await self._is_acknowledged(tenant, body):  # noqa: ASYNC110 - nobody tells when to try again
            await asyncio.sleep(RETRY_SECONDS)
        self._stage.ledger.note(tenant, feedback_id)
        self.acknowledged.append((begin, time.perf_counter() - begin))

    async def _is_acknowledged(self, tenant: str, body: bytes) -> bool:
        answer = await self._stage.router.ask(tenant, "POST", "/feedback", body)
        self.answers.append(answer)
        if answer.status not in {200, *NOT_NOW}:
            raise RuntimeError(f"a label was answered {answer.status}: {answer.body[:500].decode()}")
        return answer.status == 200

    async def wait_for(self, more: int) -> None:
        """Return when so many more labels that are sent from now on have been acknowledged."""
        goal = len(self.acknowledged) + self._clients + more  # those under way were sent before
        while len(self.acknowledged) < goal:
            self.check()
            await asyncio.sleep(0.01)


class Askers(Traffic):
    """Ask tenants for predictions, in turn."""

    def __init__(self, stage: Stage, tenants: Iterable[str], clients: int = 4) -> None:
        super().__init__(clients)
        self._stage = stage
        self._tenants = list(tenants)
        self._turns = cycle(self._tenants)

    async def ask(self) -> None:
        """One prediction."""
        self.answers.append(await self._stage.predict(next(self._turns)))

    async def once_around(self) -> None:
        """Return when every tenant has been asked once more."""
        goal = len(self.answers) + len(self._tenants) + self._clients
        while len(self.answers) < goal:
            self.check()
            await asyncio.sleep(0.01)
