"""What reviewers do meanwhile: they lease, label, skip, pass on, give back, or forget what they have leased."""

import asyncio
import random
from collections import defaultdict
from typing import Any

from load_tests.torture.history import Kind
from load_tests.torture.workload import ALL_SERVICES, Workload, services_of

REVIEWED = [f"reviewed-{k}" for k in range(3)]  # never deleted
POLICY = {"review_random": 1.0, "reviews_per_day": None}  # every prediction is to be reviewed
PEOPLE = 5
LEASE_SECONDS = (1, 2, 4)
HELD_SECONDS = (0.0, 0.0, 0.1, 0.5, 1.5)
PREDICTIONS_PAUSE_SECONDS = (0.05, 0.3)
REVIEW_PAUSE_SECONDS = (0.1, 0.5)
FACTS = ("prediction_id", "lease")  # of an item: what the checker needs; the rest would fill the memory
DECISIONS = {"label": 8, "skip": 3, "unsure": 3, "release": 2, "renew": 1, "forget": 2}


class Reviewers:
    """Each of them looks at a few items, then at the next ones."""

    def __init__(self, workload: Workload, seed: int) -> None:
        self.predicted: dict[str, list[str]] = defaultdict(list)  # prediction_ids to be reviewed, by tenant
        self._workload = workload
        self._client = workload.client
        self._dice = random.Random(f"{seed}/reviewers")  # noqa: S311 - it need not be secret

    async def prepare(self) -> None:
        for tenant in REVIEWED:
            setting = self._workload.operation(Kind.SETTING, tenant)
            setting.wanted = POLICY
            await self._client.persist([setting], ALL_SERVICES, "PUT", f"/tenants/{tenant}", json=setting.wanted)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as people:
            people.create_task(self._predict())
            for number in range(PEOPLE):
                people.create_task(self._review(f"person-{number}"))

    async def _predict(self) -> None:
        while not self._workload.enough.is_set():
            tenant = self._dice.choice(REVIEWED)
            features = {f"word:{self._dice.randrange(300)}": 1.0 for _ in range(4)}
            body = {"tenant": tenant, "features": features}
            found = await self._workload.predict(tenant, self._dice.choice(ALL_SERVICES), body)
            if found.acknowledged and found.answer["prediction_id"]:
                self.predicted[tenant].append(found.answer["prediction_id"])
            await asyncio.sleep(self._dice.uniform(*PREDICTIONS_PAUSE_SECONDS))

    async def _review(self, person: str) -> None:
        while not self._workload.enough.is_set():
            tenant, service = self._dice.choice(REVIEWED), self._dice.choice(ALL_SERVICES)
            seconds = self._dice.choice(LEASE_SECONDS)
            wanted = {"moderator": person, "lease_seconds": seconds, "limit": self._dice.randrange(1, 4)}
            lease = self._workload.operation(Kind.LEASE, tenant, **wanted)
            path = f"/tenants/{tenant}/review"
            found = await self._client.send([lease], service, "GET", path, params={**wanted, "explain": 0})
            if found.acknowledged:
                items = found.answer["items"]
                found.answer |= {"items": [{name: each[name] for name in FACTS} for each in items]}
                for item in items:
                    await self._decide(tenant, person, item, seconds)
            await asyncio.sleep(self._dice.uniform(*REVIEW_PAUSE_SECONDS))

    async def _decide(self, tenant: str, person: str, item: dict[str, Any], seconds: int) -> None:
        await asyncio.sleep(self._dice.choice(HELD_SECONDS))
        (decision,) = self._dice.choices(list(DECISIONS), list(DECISIONS.values()))
        services = services_of(tenant, self._dice)
        prediction_id, lease = item["prediction_id"], item["lease"]
        if decision == "label":
            label = self._workload.label(tenant, item["features"])
            label.wanted["moderator"] = person
            self._client.history.reviewed[label.name] = prediction_id
            await self._workload.give_for(label, prediction_id, services)
        elif decision != "forget":
            wanted = {"action": decision, "prediction_id": prediction_id, "lease": lease, "moderator": person}
            ending = self._workload.operation(Kind.END_LEASE, tenant, **wanted)
            body = {"action": decision, "lease": lease, "moderator": person}
            if decision == "renew":
                body["lease_seconds"] = ending.wanted["lease_seconds"] = seconds
            path = f"/tenants/{tenant}/review/{prediction_id}"
            await self._client.persist([ending], services, "POST", path, json=body)
