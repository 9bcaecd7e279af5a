"""The memory of a worker: its tenants, evicted least recently used first, and what the store must not lose.

Tenants are hidden from Python's garbage collector. It looks for cycles in all objects, and the worker serves nothing
meanwhile: the objects of 100,000 tenants took more than a second. A tenant has no cycles, so it is freed with its last
reference anyway.
"""

import ctypes
import gc
import logging
from collections import OrderedDict
from collections.abc import Mapping, Sequence

from msgspec import Struct

from app.learning.events import Outcome
from app.storage.event_log import INCARNATION_LENGTH, Entry, next_chain
from app.storage.metadata import Position
from app.telemetry.counters import Telemetry
from app.tenants.tenant import Tenant

logger = logging.getLogger("sluice.tenants")

TENANT_OVERHEAD_BYTES = 12_000  # of a tenant, without its table and its names
RECENT_BYTES = 32 << 20
ENTRY_OVERHEAD_BYTES = 400
ENDED_KEPT = 10_000
# Only these types, and no memoryviews, for example: an object that the collector does not track must be freed safely.
CONTAINERS = (dict, list, tuple)
STATE_MODULES = ("app.learning.", "kernels.")  # of the classes in a tenant's state

_untrack = ctypes.pythonapi.PyObject_GC_UnTrack
_untrack.argtypes, _untrack.restype = [ctypes.py_object], None


class RecentLog(Struct, gc=False):
    """The range of entries that are remembered of one log, without a gap, and the chain of the last one."""

    incarnation: str
    first: int
    last: int
    chain: str


class RecentEntries:
    """The last entries that this worker has applied, of all tenants, in case that the store loses them.

    They stay when their tenant is evicted. The oldest ones beyond the limit are dropped, in the order of their log.
    """

    def __init__(self, bytes_kept: int = RECENT_BYTES) -> None:
        self._bytes_kept = bytes_kept
        self._bytes = 0
        self._entries: OrderedDict[tuple[str, int], Entry] = OrderedDict()  # by tenant and version
        self.logs: dict[str, RecentLog] = {}  # by tenant; no struct in it is tracked by the garbage collector

    def remember(self, tenant: str, incarnation: str, entry: Entry) -> None:
        """Keep an entry that was applied; an entry that does not continue the remembered log begins a new one."""
        log = self.logs.get(tenant)
        if log is not None and entry.version == log.last + 1 and incarnation == log.incarnation:
            log.last, log.chain = entry.version, entry.chain
        else:
            self.forget(tenant)
            self.logs[tenant] = RecentLog(incarnation, entry.version, entry.version, entry.chain)
        self._entries[tenant, entry.version] = entry
        self._bytes += len(entry.payload) + ENTRY_OVERHEAD_BYTES
        self._drop_oldest()

    def remember_read(self, tenant: str, incarnation: str, entries: Sequence[Entry]) -> None:
        """Keep entries that were read when their tenant was loaded.

        Those of a log that was not remembered before are the first to be dropped: loads of many tenants must not
        replace entries that this worker has acknowledged.
        """
        log = self.logs.get(tenant)
        if log is not None and log.incarnation == incarnation:
            new = [entry for entry in entries if entry.version > log.last]
            if not new or next_chain(log.chain, new[0].payload) == new[0].chain:
                for entry in new:
                    self.remember(tenant, incarnation, entry)
                return
        self.forget(tenant)
        if entries:
            self.logs[tenant] = RecentLog(incarnation, entries[0].version, entries[-1].version, entries[-1].chain)
        for entry in reversed(entries):
            self._entries[tenant, entry.version] = entry
            self._entries.move_to_end((tenant, entry.version), last=False)
            self._bytes += len(entry.payload) + ENTRY_OVERHEAD_BYTES
        self._drop_oldest()

    def end_of(self, tenant: str) -> Position | None:
        """Return the position of the last entry that is remembered of a tenant."""
        log = self.logs.get(tenant)
        return Position(log.incarnation, log.last, log.chain) if log else None

    def has(self, tenant: str, position: Position) -> bool:
        """Whether the entry that led to exactly this position is known."""
        log = self.logs.get(tenant)
        if log is None or log.incarnation != position.incarnation:
            return False
        entry = self._entries.get((tenant, position.version))
        return entry is not None and entry.chain == position.chain

    def leading_to(self, tenant: str, position: Position) -> list[Entry]:
        """Return the last entries up to a position, in order, as far back as they are known without gap or fork."""
        if not self.has(tenant, position):
            return []
        found = [self._entries[tenant, position.version]]
        for version in range(position.version - 1, self.logs[tenant].first - 1, -1):
            entry = self._entries[tenant, version]
            if next_chain(entry.chain, found[-1].payload) != found[-1].chain:
                break
            found.append(entry)
        return found[::-1]

    def forget(self, tenant: str) -> None:
        """Drop the entries of a tenant that was deleted, or whose log has another history now."""
        log = self.logs.pop(tenant, None)
        for version in range(log.first, log.last + 1) if log else ():
            self._bytes -= len(self._entries.pop((tenant, version)).payload) + ENTRY_OVERHEAD_BYTES

    def _drop_oldest(self) -> None:
        while self._bytes > self._bytes_kept:
            (tenant, version), entry = self._entries.popitem(last=False)
            self._bytes -= len(entry.payload) + ENTRY_OVERHEAD_BYTES
            log = self.logs[tenant]
            log.first = version + 1
            if log.first > log.last:
                del self.logs[tenant]


class EndedIncarnations:
    """The newest incarnations that have ended: their tenant was deleted, or replaced by an import.

    A failover can bring them back. This worker's own deletions are here, and those of others that it saw.
    """

    def __init__(self, at_most: int = ENDED_KEPT) -> None:
        self._at_most = at_most
        self._tenants: dict[str, str] = {}  # by incarnation, the oldest first
        self.names = self._tenants.values()

    def add(self, tenant: str, incarnation: str) -> None:
        """Remember an incarnation of a tenant."""
        self._tenants[incarnation] = tenant
        if len(self._tenants) > self._at_most:
            del self._tenants[next(iter(self._tenants))]

    def note(self, tenant: str, earlier: str) -> None:
        """Remember the earlier incarnations in the metadata of a tenant."""
        for incarnation in earlier.split():
            if incarnation not in self._tenants and len(incarnation) == INCARNATION_LENGTH:
                self.add(tenant, incarnation)

    def of(self, tenant: str) -> str:
        """Return the known ones of a tenant, the newest first, separated by spaces."""
        return " ".join(reversed([each for each, name in self._tenants.items() if name == tenant]))

    def __contains__(self, incarnation: str) -> bool:
        """Whether this incarnation has ended."""
        return incarnation in self._tenants


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
            tenant.unsaved_bytes += len(entry.payload)
            self._recent.remember(tenant.name, tenant.incarnation, entry)
        self.measure(tenant)
        return outcomes

    def apply_all(self, tenant: Tenant, entries: Sequence[Entry]) -> None:
        """Apply entries together, which is faster, and remember them."""
        tenant.apply_all(entries)
        for entry in entries:
            tenant.unsaved_bytes += len(entry.payload)
            self._recent.remember(tenant.name, tenant.incarnation, entry)
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
