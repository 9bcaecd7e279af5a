"""What administrators do meanwhile: they delete tenants, import and export models, create and revoke keys."""

import asyncio
import random
from collections.abc import Awaitable, Callable

from load_tests.torture.client import Client
from load_tests.torture.history import Kind, Operation
from load_tests.torture.workload import ALL_SERVICES, COPIES, FIXED, MORTAL, SMALL_SERVICE, Workload

PAUSES_SECONDS = {"delete": (2.0, 6.0), "import": (1.0, 5.0), "change": (0.5, 3.0), "use": (0.1, 0.3)}
BINARY = {"content-type": "application/octet-stream"}
LIVE_KEYS = 4  # at a time; the oldest is revoked then
TRIED_KEYS = 12  # revoked ones that are tried again


class Administration:
    """Each administrator does one thing after the other."""

    def __init__(self, workload: Workload, seed: int) -> None:
        self.models: dict[str, tuple[bytes, str]] = {}  # by fixed tenant: the file, and the digest of its model
        self.secrets: dict[str, str] = {}  # of every key that was created, by its id
        self._live: list[str] = []
        self._revoked: list[str] = []
        self._workload = workload
        self._client: Client = workload.client
        self._dice = random.Random(f"{seed}/administration")  # noqa: S311 - it need not be secret

    async def prepare(self) -> None:
        """Export the models that are imported later."""
        for tenant in FIXED:
            digest = (await self._client.fetch(f"/tenants/{tenant}")).json()["digest"]
            file = (await self._client.fetch(f"/tenants/{tenant}/export")).content
            self.models[tenant] = (file, digest)

    async def run(self) -> None:
        work = {"delete": self._delete, "import": self._import, "change": self._change_key, "use": self._use_key}
        async with asyncio.TaskGroup() as administrators:
            for name, action in work.items():
                administrators.create_task(self._repeat(action, PAUSES_SECONDS[name]))

    async def _repeat(self, action: Callable[[], Awaitable[None]], pause: tuple[float, float]) -> None:
        while not self._workload.enough.is_set():
            await action()
            await asyncio.sleep(self._dice.uniform(*pause))

    async def _delete(self) -> None:
        """Delete a tenant that is used again at once, or one that is not used any more."""
        if self._dice.random() < 0.5:
            tenant = self._dice.choice(MORTAL)
        else:
            label = self._workload.label("", None)
            tenant = label.tenant = f"gone-{label.name.rpartition('-')[2]}"
            await self._workload.give(label, self._dice.choice([ALL_SERVICES, (SMALL_SERVICE,)]))
        deletion = self._workload.operation(Kind.DELETE, tenant)
        await self._client.persist([deletion], ALL_SERVICES, "DELETE", f"/tenants/{tenant}")

    async def _import(self) -> None:
        tenant, source = self._dice.choice(COPIES), self._dice.choice(FIXED)
        file, digest = self.models[source]
        imported = self._workload.operation(Kind.IMPORT, tenant, digest=digest)
        path = f"/tenants/{tenant}/import?replace=true"
        await self._client.persist([imported], ALL_SERVICES, "POST", path, content=file, headers=BINARY)
        exported = self._workload.operation(Kind.EXPORT, source)
        await self._client.persist([exported], ALL_SERVICES, "GET", f"/tenants/{source}/export")

    async def _change_key(self) -> None:
        if len(self._live) < LIVE_KEYS:
            created = Operation(Kind.CREATE_KEY, "", "")
            wanted = {"name": "torture", "roles": ["predict"], "tenants": [FIXED[0]]}
            found = await self._client.send([created], self._dice.choice(ALL_SERVICES), "POST", "/keys", json=wanted)
            if not found.acknowledged:
                created.name = f"key-{found.request_id}"
            else:
                created.name = found.answer["key"]["id"]
                self.secrets[created.name] = found.answer.pop("secret")
                self._live.append(created.name)
            self._client.history.add(created)
        else:
            key = self._live.pop(self._dice.randrange(len(self._live)))
            revoked = self._client.history.add(Operation(Kind.REVOKE_KEY, "", key))
            await self._client.persist([revoked], ALL_SERVICES, "DELETE", f"/keys/{key}")
            self._revoked = [*self._revoked, key][-TRIED_KEYS:]

    async def _use_key(self) -> None:
        if keys := self._live + self._revoked:
            key = self._dice.choice(keys)
            use = self._client.history.add(Operation(Kind.USE_KEY, "", key))
            body = {"tenant": FIXED[0], "features": {"word:1": 1.0}, "keep": False}
            service, secret = self._dice.choice(ALL_SERVICES), self.secrets[key]
            await self._client.send([use], service, "POST", "/predict", key=secret, json=body)
