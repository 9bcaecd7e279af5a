"""Which tenants are in memory: loaded once on first use, dropped least recently used first."""

import asyncio
import logging
import time
from collections import OrderedDict

from app.telemetry.counters import Telemetry
from app.tenants.errors import TenantDamaged
from app.tenants.garbage_collection import spare, spare_all_in
from app.tenants.recovery import Recovery
from app.tenants.tenant import Giver, Tenant

logger = logging.getLogger("sluice.tenants")

DAMAGED_SECONDS = 5.0  # a tenant that cannot be loaded is not tried again before
OVERHEAD_BYTES = 12_000  # of a tenant in memory, beside its table and its names


class Holding:
    """The tenants in memory, the least recently used first."""

    def __init__(
        self, recovery: Recovery, budget_bytes: int, telemetry: Telemetry | None = None, max_weights_moved: int = 0
    ) -> None:
        self._recovery = recovery
        self._max_weights_moved = max_weights_moved
        self._telemetry = telemetry or Telemetry()
        self._budget_bytes = budget_bytes
        self._loading: dict[str, asyncio.Task[Tenant | None]] = {}
        self._sizes: dict[str, int] = {}
        self._bytes = 0
        self.tenants: OrderedDict[str, Tenant] = OrderedDict()
        self.unsaved: dict[str, Tenant] = {}  # those that have learnt something since their newest snapshot
        self.damaged: dict[str, tuple[TenantDamaged, float]] = {}
        self.giver: Giver | None = None

    def held(self, name: str) -> Tenant | None:
        """A tenant that is in memory, which is used now."""
        tenant = self.tenants.get(name)
        if tenant is not None:
            self.tenants.move_to_end(name)
        return tenant

    async def load(self, name: str) -> Tenant | None:
        """A tenant, from memory or else from the store; None if there is none. Those who ask at once load it once."""
        if tenant := self.held(name):
            return tenant
        self._refuse_damaged(name)
        task = self._loading.get(name)
        if task is None:
            task = asyncio.create_task(self._load(name))
            self._loading[name] = task
        return await asyncio.shield(task)

    async def _load(self, name: str) -> Tenant | None:
        try:
            tenant = await self._recovery.load(name)
        except TenantDamaged as error:
            logger.error("%s", error)  # noqa: TRY400 - the sentence says it all
            self.damaged[name] = (error, time.monotonic() + DAMAGED_SECONDS)
            raise
        finally:
            del self._loading[name]  # at once: whoever comes now must look for himself
        self.damaged.pop(name, None)
        if tenant is not None:
            self._telemetry.loads += 1
            tenant.giver = self.giver
            tenant.max_weights_moved = self._max_weights_moved
            tenant.watch = self._telemetry.tenants.of(name)
            spare(tenant)
            self.tenants[name] = tenant
            spare_all_in(self.tenants)
            spare_all_in(self._telemetry.tenants.watches)
            self.measure(tenant)
        return tenant

    def _refuse_damaged(self, name: str) -> None:
        error, until = self.damaged.get(name, (None, 0.0))
        if error is not None and time.monotonic() < until:
            raise error

    def drop(self, tenant: Tenant) -> None:
        """Forget a tenant; its log and its snapshots have everything."""
        if self.tenants.get(tenant.name) is tenant:
            del self.tenants[tenant.name]
            self.unsaved.pop(tenant.name, None)
            self._bytes -= self._sizes.pop(tenant.name, 0)

    def measure(self, tenant: Tenant) -> None:
        """A tenant has come or learnt: count its memory anew, and make room if that is too much."""
        if self.tenants.get(tenant.name) is tenant:
            if tenant.state.version > tenant.snapshot_version:
                self.unsaved[tenant.name] = tenant
                spare_all_in(self.unsaved)
            size = tenant.state.bytes + OVERHEAD_BYTES
            self._bytes += size - self._sizes.get(tenant.name, 0)
            self._sizes[tenant.name] = size
            self._make_room(tenant)

    def _make_room(self, staying: Tenant) -> None:
        leaving, too_much = [], self._bytes - self._budget_bytes
        for tenant in self.tenants.values():
            if too_much <= 0:
                break
            if tenant is not staying and not tenant.in_flight and not tenant.lock.locked():
                leaving.append(tenant)
                too_much -= self._sizes[tenant.name]
        for tenant in leaving:
            logger.info("tenant %s leaves memory (%d bytes)", tenant.name, self._sizes[tenant.name])
            self._telemetry.evictions += 1
            self.drop(tenant)

    @property
    def bytes(self) -> int:
        """Memory of all tenants here."""
        return self._bytes
