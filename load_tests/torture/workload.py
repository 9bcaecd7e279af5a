"""What the clients do: labels in every form, retries of old ones, predictions with known answers, settings."""

import asyncio
import json
import random
import time
from collections import defaultdict, deque
from collections.abc import Sequence
from itertools import count
from typing import Any

from load_tests.torture.answers import wrong_answers
from load_tests.torture.client import Client
from load_tests.torture.history import RETRIED, Attempt, Kind, Operation

STEADY = [f"steady-{k}" for k in range(5)]  # never deleted
MORTAL = [f"mortal-{k}" for k in range(4)]  # deleted and created again
RARE = [f"rare-{k}" for k in range(40)]  # used by the small service alone, and not often: no other one has them
FIXED = [f"fixed-{k}" for k in range(2)]  # taught once: their scores never change
COPIES = [f"copy-{k}" for k in range(2)]  # imported, again and again
CROWD = [f"crowd-{k}" for k in range(32)]  # large: loading them evicts all others from the small service
LARGE_FEATURES, CROWD_LABELS = 10_000, 2
ALL_SERVICES, SMALL_SERVICE = (0, 1), 1
CLIENTS = 8
PACE_SECONDS = 0.09  # between two requests of a client
OLD_LABELS = 400  # of which one is sent again, now and then
GIVEN_LABELS = 200  # of each tenant, which may be taken back
NDJSON = {"content-type": "application/x-ndjson"}


class Workload:
    """The dice of all clients; what they throw depends on the seed and on the timing of the answers."""

    def __init__(self, client: Client, seed: int) -> None:
        self.client = client
        self.enough = asyncio.Event()
        self.scores: dict[tuple[str, int], tuple[int, float]] = {}  # of FIXED: version and score by feature
        self._dice = random.Random(f"{seed}/workload")  # noqa: S311 - it need not be secret
        self._numbers = count()
        self._old: list[Operation] = []
        self.given = defaultdict[str, deque[Operation]](lambda: deque(maxlen=GIVEN_LABELS))  # acknowledged, by tenant

    async def teach(self) -> None:
        """The first labels of the fixed and the large tenants, and what the fixed ones then answer."""
        for tenant in FIXED:
            labels = [self.label(tenant, {f"word:{k}": 1.0, "all": 0.25}) for k in range(20)]
            await self.give_batch(tenant, labels, ALL_SERVICES)
            for k in range(20):
                answer = (await self.predict(tenant, 0, self._question(tenant, k))).answer
                self.scores[tenant, k] = (answer["version"], answer["score"])
        for tenant in CROWD:
            for _ in range(CROWD_LABELS):
                await self.give(self._large_label(tenant), (SMALL_SERVICE,))

    async def run(self) -> None:
        """Let all clients work until `enough` is set."""
        async with asyncio.TaskGroup() as clients:
            for _ in range(CLIENTS):
                clients.create_task(self._work())

    async def evict(self) -> None:
        """Use every large tenant on the small service."""
        for tenant in CROWD:
            body = {"tenant": tenant, "features": {"large:0": 1.0}, "keep": False}
            await self.predict(tenant, SMALL_SERVICE, body)

    async def _work(self) -> None:
        actions = {
            self._give_one: 30,
            self._give_rare: 15,
            self._give_unnamed: 8,
            self._give_batch: 8,
            self._give_stream: 5,
            self._give_by_prediction: 12,
            self._give_again: 10,
            self._probe: 14,
            self._configure: 3,
            self._give_large: 2,
        }
        while not self.enough.is_set():
            (action,) = self._dice.choices(list(actions), list(actions.values()))
            due = time.monotonic() + PACE_SECONDS
            await action()
            await asyncio.sleep(due - time.monotonic())

    # Labels.

    def operation(self, kind: Kind, tenant: str, **wanted: Any) -> Operation:  # noqa: ANN401 - JSON
        name = f"{kind.value.replace(' ', '-')}-{next(self._numbers)}"
        return self.client.history.add(Operation(kind, tenant, name, wanted))

    def label(self, tenant: str, features: dict[str, float] | None = None) -> Operation:
        return self.operation(
            Kind.LABEL, tenant, features=features or self._features(), label=self._dice.choice([1, -1])
        )

    async def give(self, label: Operation, services: tuple[int, ...]) -> None:
        body = {"tenant": label.tenant, **item_of(label)}
        await self.client.persist([label], services, "POST", "/feedback", json=body)
        self._remember(label)

    async def _give_one(self) -> None:
        await self.give(self.label(self._tenant()), self._services())

    async def _give_rare(self) -> None:
        await self.give(self.label(self._dice.choice(RARE)), (SMALL_SERVICE,))

    async def _give_large(self) -> None:
        await self.give(self.label(self._dice.choice(CROWD)), (SMALL_SERVICE,))

    async def _give_unnamed(self) -> None:
        wanted = {"features": self._features(), "label": self._dice.choice([1, -1])}
        label = self.operation(Kind.UNNAMED_LABEL, self._tenant(), **wanted)
        body = {"tenant": label.tenant, "moderator": label.name, **wanted}
        await self.client.persist([label], self._services(), "POST", "/feedback", json=body)

    async def _give_batch(self) -> None:
        tenant = self._tenant()
        await self.give_batch(
            tenant, [self.label(tenant) for _ in range(self._dice.randrange(2, 12))], self._services()
        )

    async def give_batch(self, tenant: str, labels: Sequence[Operation], services: tuple[int, ...]) -> None:
        body = {"tenant": tenant, "items": [item_of(label) for label in labels]}
        await self.client.persist(labels, services, "POST", "/feedback/batch", json=body)
        self._remember(*labels)

    async def _give_stream(self) -> None:
        tenant = self._tenant()
        labels = [self.label(tenant) for _ in range(self._dice.randrange(2, 12))]
        body = "\n".join(json.dumps(item_of(label)) for label in labels).encode()
        path = f"/feedback/batch?tenant={tenant}"
        await self.client.persist(labels, self._services(), "POST", path, content=body, headers=NDJSON)
        self._remember(*labels)

    async def _give_by_prediction(self) -> None:
        label, services = self.label(self._tenant()), self._services()
        prediction_id = await self.predict_for(label, services[0])
        if prediction_id and self._dice.random() < 0.3:
            await asyncio.sleep(self._dice.uniform(0, 2))
        await self.give_for(label, prediction_id, services)

    async def predict_for(self, label: Operation, service: int) -> str:
        """A prediction of the input of a label; empty without an answer."""
        body = {"tenant": label.tenant, "features": label.wanted["features"]}
        found = await self.predict(label.tenant, service, body)
        return found.answer.get("prediction_id") or "" if found.acknowledged else ""

    async def give_for(self, label: Operation, prediction_id: str, services: tuple[int, ...]) -> None:
        """With the features instead if the prediction is not kept: both are the same label."""
        if prediction_id:
            body = {"tenant": label.tenant, **item_of(label, prediction_id)}
            await self.client.persist([label], services, "POST", "/feedback", json=body)
            if label.attempts[-1].status != 410:
                self._note_given(label)
                return
        await self.give(label, services)

    async def give_batch_for(
        self, tenant: str, labels: Sequence[Operation], prediction_ids: Sequence[str], services: tuple[int, ...]
    ) -> None:
        """The same for several predictions."""
        items = [item_of(label, each) for label, each in zip(labels, prediction_ids, strict=True)]
        body = {"tenant": tenant, "items": items}
        await self.client.persist(labels, services, "POST", "/feedback/batch", json=body)
        self._note_given(*labels)
        for label in labels:
            if label.attempts[-1].status == 410:
                await self.give(label, services)

    async def _give_again(self) -> None:
        """A label that was acknowledged before: the answer must be the same."""
        if self._old:
            await self.give(self._dice.choice(self._old), self._services())

    def _remember(self, *labels: Operation) -> None:
        self._note_given(*labels)
        self._old += [label for label in labels if label.tenant in STEADY and len(label.attempts) < 20]
        del self._old[:-OLD_LABELS]

    def _note_given(self, *labels: Operation) -> None:
        """Note labels that were acknowledged just now."""
        for label in labels:
            if label.attempts[-1].acknowledged and not any(each is label for each in self.given[label.tenant]):
                self.given[label.tenant].append(label)

    # The rest.

    async def predict(
        self,
        tenant: str,
        service: int,
        body: dict[str, Any],
        expected: tuple[int, float] | None = None,
    ) -> Attempt:
        """Only predictions that went wrong are kept: there are many."""
        wanted = {"features": list(body["features"]), "expected": expected}
        operation = Operation(Kind.PREDICT, tenant, f"predict-{next(self._numbers)}", wanted)
        found = await self.client.send([operation], service, "POST", "/predict", json=body)
        if found.status not in {200, *RETRIED} or any(wrong_answers(operation)):
            self.client.history.add(operation)
        return found

    async def _probe(self) -> None:
        """A prediction whose answer is known: a wrong one belongs to another request, or another state."""
        tenant, k = self._dice.choice(list(self.scores))
        await self.predict(tenant, self._services()[0], self._question(tenant, k), self.scores[tenant, k])

    @staticmethod
    def _question(tenant: str, k: int) -> dict[str, Any]:
        return {"tenant": tenant, "features": {f"word:{k}": 1.0 + k}, "explain": 3, "keep": False}

    async def _configure(self) -> None:
        setting = self.operation(Kind.SETTING, self._tenant())
        setting.wanted = {"eta": 0.5 + int(setting.name.rpartition("-")[2]) * 1e-6}
        path = f"/tenants/{setting.tenant}"
        await self.client.persist([setting], self._services(), "PUT", path, json=setting.wanted)

    def _tenant(self) -> str:
        return self._dice.choice(STEADY + MORTAL)

    def _services(self) -> tuple[int, ...]:
        return services_of("", self._dice)

    def _features(self) -> dict[str, float]:
        names = [f"word:{self._dice.randrange(300)}" for _ in range(self._dice.randrange(2, 8))]
        return {name: self._dice.randrange(1, 8) / 4 for name in names}

    def _large_label(self, tenant: str) -> Operation:
        begin = 0 if self._dice.random() < 0.5 else LARGE_FEATURES // 2
        features = {f"large:{k}": 1.0 for k in range(begin, begin + LARGE_FEATURES)}
        return self.label(tenant, features)


def item_of(label: Operation, prediction_id: str = "") -> dict[str, Any]:
    """A label as an item of a batch, for a prediction or with its features."""
    item = {"feedback_id": label.name, **label.wanted}
    if prediction_id:
        del item["features"]
        item["prediction_id"] = prediction_id
    return item


def services_of(tenant: str, dice: random.Random) -> tuple[int, ...]:
    """The services that a request for a tenant goes to, in order."""
    return (SMALL_SERVICE,) if tenant in RARE else dice.choice([(0, 1), (1, 0)])
