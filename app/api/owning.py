"""The tenants that a key is for. Every route gets its tenants here, so none can reach another's by accident."""

from collections.abc import AsyncGenerator, Mapping, Sequence

from app.api.seams import Holds
from app.auth.errors import Forbidden
from app.auth.keys import Key
from app.learning.config import Value
from app.tenants.registry import ListedTenant, Readiness
from app.tenants.snapshotter import SnapshotTaken
from app.tenants.tenant import Tenant


class OwnTenants:
    """As the tenants of the worker; others than the key's own are refused before anything is looked up.

    So the refusal is the same, and takes as long, whether or not there is such a tenant.
    """

    def __init__(self, tenants: Holds, key: Key) -> None:
        self._tenants = tenants
        self._key = key

    def own(self, name: str) -> str:
        """The name, if it is one of the key's tenants."""
        if not self._key.covers(name):
            raise Forbidden.tenant(name)
        return name

    def held(self, name: str, /) -> Tenant | None:
        """A tenant that is in memory."""
        return self._tenants.held(self.own(name))

    async def hold(self, name: str, *, create: bool = True) -> Tenant:
        """A tenant, loaded or created where it has to be."""
        return await self._tenants.hold(self.own(name), create=create)

    async def configure(self, name: str, changes: Mapping[str, Value]) -> Tenant:
        """Change settings, and create the tenant if there is none."""
        return await self._tenants.configure(self.own(name), changes)

    async def delete(self, name: str) -> None:
        """Delete a tenant."""
        await self._tenants.delete(self.own(name))

    async def listed(self, after: str, limit: int, within: Sequence[str] = ("*",)) -> list[ListedTenant]:
        """Some of the key's tenants; nobody asks for a part of them."""
        assert within == ("*",)
        return await self._tenants.listed(after, limit, self._key.tenants)

    async def snapshot(self, name: str) -> SnapshotTaken:
        """Take a snapshot now."""
        return await self._tenants.snapshot(self.own(name))

    async def export(self, name: str) -> AsyncGenerator[bytes, None]:
        """A tenant's model file, piece by piece."""
        return await self._tenants.export(self.own(name))

    async def imported(self, name: str, data: bytes, *, replace: bool) -> Tenant:
        """Let a model file be a tenant."""
        return await self._tenants.imported(self.own(name), data, replace=replace)

    def ready(self) -> Readiness:
        """Whether this worker can do its work."""
        return self._tenants.ready()
