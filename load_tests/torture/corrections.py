"""What moderators correct meanwhile: they take labels back, and give second labels for the same predictions."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence

from load_tests.torture.history import Kind, Operation
from load_tests.torture.workload import MORTAL, RARE, STEADY, Workload, services_of

PAUSES_SECONDS = {"retract": (0.1, 0.5), "replace": (0.05, 0.25)}
BY_MODERATOR, AGAIN, TOGETHER, WAITS = 0.3, 0.2, 0.3, 0.3  # shares
MOST_LABELS = 12  # of a retraction
PREDICTIONS = (1, 1, 1, 2, 5)  # that are labelled, and then labelled again


class Corrections:
    """Each moderator does one thing after the other."""

    def __init__(self, workload: Workload, seed: int) -> None:
        self._workload = workload
        self._client = workload.client
        self._dice = random.Random(f"{seed}/corrections")  # noqa: S311 - it need not be secret

    async def run(self) -> None:
        work = {"retract": self._retract, "replace": self._replace}
        async with asyncio.TaskGroup() as moderators:
            for name, action in work.items():
                moderators.create_task(self._repeat(action, PAUSES_SECONDS[name]))

    async def _repeat(self, action: Callable[[], Awaitable[None]], pause: tuple[float, float]) -> None:
        while not self._workload.enough.is_set():
            await action()
            await asyncio.sleep(self._dice.uniform(*pause))

    # Labels that are taken back.

    async def _retract(self) -> None:
        tenant = self._tenant()
        if self._dice.random() < BY_MODERATOR:
            await self._retract_moderator(tenant)
        elif given := self._workload.given[tenant]:
            number = min(self._dice.randrange(1, MOST_LABELS), len(given))
            names = [label.name for label in self._dice.sample(list(given), number)]
            await self._send(tenant, names, feedback_ids=names)

    async def _retract_moderator(self, tenant: str) -> None:
        """All labels of a moderator, who has just given a batch of them."""
        labels = [self._workload.label(tenant) for _ in range(self._dice.randrange(2, MOST_LABELS))]
        moderator = f"careless-{labels[0].name}"
        for label in labels:
            label.wanted["moderator"] = moderator
        await self._workload.give_batch(tenant, labels, services_of(tenant, self._dice))
        if all(label.acknowledgements for label in labels):
            await self._send(tenant, [label.name for label in labels], moderator=moderator)

    async def _send(self, tenant: str, names: list[str], **which: object) -> None:
        retraction = self._workload.operation(Kind.RETRACT, tenant, labels=names)
        body = {"reason": retraction.name, "by": "torture", **which}
        for _ in range(2 if self._dice.random() < AGAIN else 1):
            services = services_of(tenant, self._dice)
            await self._client.persist([retraction], services, "POST", f"/tenants/{tenant}/retract", json=body)

    # Second labels.

    async def _replace(self) -> None:
        """Label some predictions, then give each of them the opposite label, at times twice at once."""
        tenant = self._tenant()
        services = services_of(tenant, self._dice)
        first = [self._workload.label(tenant) for _ in range(self._dice.choice(PREDICTIONS))]
        ids = [await self._workload.predict_for(label, services[0]) for label in first]
        if not all(ids):
            return
        await self._give(tenant, first, ids)
        if self._dice.random() < WAITS:
            await asyncio.sleep(self._dice.uniform(0, 3))
        second = [self._second(label) for label in first]
        rivals = [self._second(label) for label in first] if self._dice.random() < TOGETHER else []
        await asyncio.gather(*(self._give(tenant, labels, ids) for labels in (second, rivals) if labels))
        if tenant in STEADY and self._dice.random() < AGAIN:  # every answer must be the first one
            await self._give(tenant, first + second + rivals, [*ids, *ids, *(ids if rivals else ())])

    def _second(self, label: Operation) -> Operation:
        wanted = label.wanted | {"label": -label.wanted["label"], "moderator": "careful"}
        return self._workload.operation(Kind.SECOND_LABEL, label.tenant, **wanted)

    async def _give(self, tenant: str, labels: Sequence[Operation], prediction_ids: Sequence[str]) -> None:
        services = services_of(tenant, self._dice)
        if len(labels) == 1:
            await self._workload.give_for(labels[0], prediction_ids[0], services)
        else:
            await self._workload.give_batch_for(tenant, labels, prediction_ids, services)

    def _tenant(self) -> str:
        return self._dice.choice([*STEADY, *MORTAL, self._dice.choice(RARE)])
