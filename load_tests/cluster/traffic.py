"""Traffic that continues while something is done to the deployment, and the outcome of every request."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import count, cycle
from typing import Self

from load_tests.cluster.services import NO_ANSWER, Answer, Deployment, label, new_id

PAUSE_SECONDS = 0.005  # leaves the machine time for what is done
RETRY_SECONDS = 0.05
ERROR = 500  # must never come; a client sends the label again all the same
RETRIED = (503, NO_ANSWER, ERROR)


class Readers:
    """Clients that ask tenants for predictions, in turn, one after the other until the block ends."""

    def __init__(self, deployment: Deployment, tenants: Sequence[str], clients: int = 4) -> None:
        self._deployment = deployment
        self._turns = cycle(tenants)
        self._clients = clients
        self._enough = asyncio.Event()
        self.answers: list[Answer] = []
        self.done: list[tuple[float, float]] = []  # when a request was first sent, and had its final answer

    async def send(self, tenant: str) -> None:
        self.answers.append(await self._deployment.predict(tenant))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Self]:
        """Let every client finish its request at the end of the block: a label must be acknowledged."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(self._clients):
                tasks.create_task(self._run())
            yield self
            self._enough.set()

    async def _run(self) -> None:
        while not self._enough.is_set():
            begin = time.perf_counter()
            await self.send(next(self._turns))
            self.done.append((begin, time.perf_counter()))
            await asyncio.sleep(PAUSE_SECONDS)

    async def wait_for(self, more: int) -> None:
        """Return when so many more requests that are sent from now on are done."""
        goal = len(self.done) + self._clients + more  # those under way were sent before
        while len(self.done) < goal:  # noqa: ASYNC110 - an event for every goal is more code
            await asyncio.sleep(0.01)

    def answered(self, status: int) -> int:
        return sum(answer.status == status for answer in self.answers)


class Moderators(Readers):
    """Give labels to tenants in turn. One that is refused is sent again, under its id, until it is acknowledged."""

    numbers = count(1000)

    async def send(self, tenant: str) -> None:
        feedback_id = new_id()
        body = label(tenant, next(self.numbers), feedback_id)
        while (answer := await self._deployment.router.send(tenant, "POST", "/feedback", body)).status != 200:
            self.answers.append(answer)
            if answer.status not in RETRIED:
                raise RuntimeError(f"a label was answered {answer.status}: {answer.body[:500].decode()}")
            await asyncio.sleep(RETRY_SECONDS)
        self.answers.append(answer)
        self._deployment.acknowledged[tenant].add(feedback_id)

    def cells(self, moment: float) -> tuple[str, str, str]:
        """Labels acknowledged since a moment, attempts refused in all, and the longest wait, as cells of a table."""
        seconds = [end - begin for begin, end in self.done if end >= moment]
        errors, refused = self.answered(ERROR), f"{len(self.answers) - self.answered(200):,}"
        return (
            f"{len(seconds):,}",
            refused + (f", {errors:,} of them with 500" if errors else ""),
            f"{max(seconds):.2f}",
        )
