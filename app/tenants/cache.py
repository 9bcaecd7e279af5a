"""The memory of a worker: its tenants, evicted least recently used first, and the log entries it lately applied.

Tenants are hidden from Python's garbage collector. It looks for cycles in all objects, and the worker serves nothing
meanwhile: the objects of 100,000 tenants took more than a second. A tenant has no cycles, so it is freed with its last
reference anyway.
"""

import ctypes
import gc
import logging
from collections import OrderedDict
from collections.abc import Mapping, Sequence

from app.learning.state import Outcome
from app.storage.event_log import Entry, Position, next_chain
from app.telemetry.counters import Telemetry
from app.tenants.tenant import Tenant

logger = logging.getLogger("sluice.tenants")

TENANT_OVERHEAD_BYTES = 12_000  # of a tenant, without its table and its names
RECENT_BYTES = 32 << 20
ENTRY_OVERHEAD_BYTES = 400
# Only these types, and no memoryviews, for example: an object that the collector does not track must be freed safely.
CONTAINERS = (dict, list, tuple)
STATE_MODULES = ("app.learning.", "kernels.")  # of the classes in a tenant's state

_untrack = ctypes.pythonapi.PyObject_GC_UnTrack
_untrack.argtypes, _untrack.restype = [ctypes.py_object], None


class RecentEntries:
    """The last entries that this worker has applied, of all tenants, in case that the store loses them."""

    def __init__(self, bytes_kept: int = RECENT_BYTES) -> None:
        self._bytes_kept = bytes_kept
        self._bytes = 0
        self._entries: OrderedDict[tuple[str, int], Entry] = OrderedDict()
        self._versions: dict[str, set[int]] = {}  # by incarnation, so that `forget` need not search all entries

    def remember(self, incarnation: str, entry: Entry) -> None:
        """Keep an entry; drop the oldest ones beyond the limit."""
        self._drop(incarnation, entry.version)
        self._entries[incarnation, entry.version] = entry
        self._versions.setdefault(incarnation, set()).add(entry.version)
        self._bytes += len(entry.payload) + ENTRY_OVERHEAD_BYTES
        while self._bytes > self._bytes_kept:
            self._drop(*next(iter(self._entries)))

    def has(self, position: Position) -> bool:
        """Whether the entry that led to exactly this position is known."""
        entry = self._entries.get((position.incarnation, position.version))
        return entry is not None and entry.chain == position.chain

    def forget(self, incarnation: str) -> None:
        """Drop the entries of an incarnation whose log has another history now."""
        for version in list(self._versions.get(incarnation, ())):
            self._drop(incarnation, version)

    def leading_to(self, position: Position) -> list[Entry]:
        """Return the last entries up to a position, in order, as far back as they are known without gap or fork."""
        found: list[Entry] = []
        for version in range(position.version, 0, -1):
            entry = self._entries.get((position.incarnation, version))
            if entry is None or not _precedes(entry, found[-1] if found else None, position):
                break
            found.append(entry)
        return found[::-1]

    def _drop(self, incarnation: str, version: int) -> None:
        entry = self._entries.pop((incarnation, version), None)
        if entry is None:
            return
        self._bytes -= len(entry.payload) + ENTRY_OVERHEAD_BYTES
        versions = self._versions[incarnation]
        versions.remove(version)
        if not versions:
            del self._versions[incarnation]


def _precedes(entry: Entry, following: Entry | None, position: Position) -> bool:
    if following is None:
        return entry.chain == position.chain
    return next_chain(entry.chain, following.payload) == following.chain


class TenantCache:
    """The tenants in memory, the least recently used first."""

    def __init__(self, budget_bytes: int, recent: RecentEntries, telemetry: Telemetry) -> None:
        self._budget_bytes = budget_bytes
        self._recent = recent
        self._telemetry = telemetry
        self._sizes: dict[str, int] = {}
        self.bytes = 0
        self.tenants: OrderedDict[str, Tenant] = OrderedDict()
        self.unsaved: dict[str, Tenant] = {}  # with events since their newest snapshot

    def held(self, name: str) -> Tenant | None:
        """Return a tenant if it is in memory, and count that as a use."""
        tenant = self.tenants.get(name)
        if tenant is not None:
            self.tenants.move_to_end(name)
        return tenant

    def add(self, tenant: Tenant) -> None:
        """Add a tenant that was loaded."""
        tenant.counter = self._telemetry.tenants.of(tenant.name)
        hide_from_collector(tenant)
        self.tenants[tenant.name] = tenant
        hide_dict_from_collector(self.tenants)
        hide_dict_from_collector(self._telemetry.tenants.counters)
        self.measure(tenant)

    def drop(self, tenant: Tenant) -> None:
        """Remove a tenant; its log and its snapshots have everything."""
        if self.tenants.get(tenant.name) is tenant:
            del self.tenants[tenant.name]
            self.unsaved.pop(tenant.name, None)
            self.bytes -= self._sizes.pop(tenant.name, 0)

    def apply_each(self, tenant: Tenant, entries: Sequence[Entry]) -> dict[int, Outcome]:
        """Apply entries one by one, and remember them; return the outcome of each version."""
        outcomes = {}
        for entry in entries:
            outcomes[entry.version] = tenant.apply(entry)
            self._recent.remember(tenant.incarnation, entry)
        self.measure(tenant)
        return outcomes

    def apply_all(self, tenant: Tenant, entries: Sequence[Entry]) -> None:
        """Apply entries together, which is faster, and remember them."""
        tenant.apply_all(entries)
        for entry in entries:
            self._recent.remember(tenant.incarnation, entry)
        self.measure(tenant)

    def measure(self, tenant: Tenant) -> None:
        """Measure a tenant that was loaded or has learnt; evict others if memory exceeds the budget."""
        if self.tenants.get(tenant.name) is not tenant:
            return
        if tenant.state.version > tenant.snapshot_version:
            self.unsaved[tenant.name] = tenant
            hide_dict_from_collector(self.unsaved)
        size = tenant.state.bytes + TENANT_OVERHEAD_BYTES
        self.bytes += size - self._sizes.get(tenant.name, 0)
        self._sizes[tenant.name] = size
        if self.bytes > self._budget_bytes:
            self._evict(tenant)

    def _evict(self, staying: Tenant) -> None:
        evicted, excess = [], self.bytes - self._budget_bytes
        for tenant in self.tenants.values():
            if excess <= 0:
                break
            if tenant is not staying and not tenant.in_flight and not tenant.lock.locked():
                evicted.append(tenant)
                excess -= self._sizes[tenant.name]
        for tenant in evicted:
            logger.info("tenant %s is evicted from memory (%d bytes)", tenant.name, self._sizes[tenant.name])
            self._telemetry.evictions += 1
            self.drop(tenant)


def hide_from_collector(tenant: Tenant) -> None:
    """Untrack everything that only this tenant refers to."""
    parts: list[object] = [tenant.lock, tenant.counter, tenant.state]
    for part in (tenant, *parts):
        _untrack(part)
    while parts:
        parts = [each for each in gc.get_referents(*parts) if gc.is_tracked(each) and _is_state(each)]
        for part in parts:
            _untrack(part)


def hide_dict_from_collector(tenants: Mapping[str, object]) -> None:
    """Untrack a dict of all tenants. Adding an item tracks it again."""
    _untrack(tenants)


def _is_state(part: object) -> bool:
    kind = type(part)
    return kind in CONTAINERS or kind.__module__.startswith(STATE_MODULES)
