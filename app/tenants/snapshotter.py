"""Snapshots: by events, by time, on request, at shutdown; one worker at a time for each tenant."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, MutableMapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from app.learning.errors import ModelNotFinite
from app.learning.snapshot.chunks import Data
from app.learning.snapshot.model_file import Chunk, encode, read_header
from app.learning.snapshot.state_copy import allocate_for, copy_state
from app.storage.errors import StoreUnavailable
from app.storage.metadata import Position
from app.storage.snapshots import SnapshotStore, Written
from app.telemetry.counters import Telemetry
from app.tenants.errors import SnapshotBusy
from app.tenants.tenant import Tenant

logger = logging.getLogger("sluice.tenants")

CHECK_SECONDS = 1.0
WAIT_SECONDS = 0.05
RENEW_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class SnapshotPolicy:
    """When snapshots are taken, and how many of them and of the events are kept.

    A log grows between two snapshots, and is trimmed behind the oldest kept one. So each of these parts may take its
    share of the bytes of a log.
    """

    every_events: int = 10_000
    every_seconds: float = 300.0
    kept: int = 3
    retained_events: int = 100_000
    log_bytes: int = 1 << 28

    @property
    def every_bytes(self) -> int:
        """The bytes of events between two snapshots."""
        return self.log_bytes // (self.kept + 1)


@dataclass(frozen=True, slots=True)
class SnapshotTaken:
    """A snapshot, and how much of it was written."""

    version: int
    digest: str
    chunks: int
    written: int
    bytes: int


@dataclass(frozen=True, slots=True)
class EncodedState:
    """A state as bytes, with its position in the log."""

    position: Position
    header: bytes
    chunks: list[Chunk]
    chunk_bytes: Callable[[Chunk], Data]
    digest: str


class Snapshotter:
    """Takes the snapshots of the tenants of this worker."""

    def __init__(
        self,
        snapshots: SnapshotStore,
        policy: SnapshotPolicy,
        unsaved: MutableMapping[str, Tenant],
        telemetry: Telemetry,
    ) -> None:
        self._snapshots = snapshots
        self._telemetry = telemetry
        self._policy = policy
        self._unsaved = unsaved  # a loop over every tenant in memory would take too long

    async def run(self) -> None:
        """Take the snapshots that are due, every second, until cancelled."""
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            for tenant in list(self._unsaved.values()):
                if tenant.state.version > tenant.snapshot_version:
                    if self._due(tenant):
                        await self._attempt(tenant)
                elif self._unsaved.get(tenant.name) is tenant:
                    del self._unsaved[tenant.name]

    async def take(self, tenant: Tenant) -> SnapshotTaken:
        """Take a snapshot now; raise SnapshotBusy while another worker takes one."""
        async with locked(self._snapshots, tenant.name) as token:
            saved_bytes = tenant.unsaved_bytes
            copy = await encode_state(tenant)
            written = await self._snapshots.write(tenant.name, copy.chunks, copy.chunk_bytes)
            policy = self._policy
            retained = await self._snapshots.events_within(tenant.name, policy.retained_events, policy.log_bytes)
            committed = await self._snapshots.commit(
                tenant.name, token, copy.position, copy.header, policy.kept, retained
            )
            if not committed:
                raise SnapshotBusy(tenant.name)
        tenant.unsaved_bytes -= saved_bytes
        return self._taken(tenant, copy, written)

    async def take_all(self, seconds: float) -> None:
        """At shutdown, take snapshots of tenants that have learnt since their last one, as far as time allows."""
        end = time.monotonic() + seconds
        behind = [tenant for tenant in self._unsaved.values() if tenant.state.version > tenant.snapshot_version]
        for tenant in sorted(behind, key=lambda tenant: tenant.snapshot_version - tenant.state.version):
            if time.monotonic() > end:
                logger.info("shutdown left no time for some snapshots; the logs have all events")
                return
            if not await self._attempt(tenant, last=True):
                return  # the store is unavailable: the others would fail as well

    def _taken(self, tenant: Tenant, copy: EncodedState, written: Written) -> SnapshotTaken:
        tenant.snapshot_version = copy.position.version
        tenant.snapshot_at = time.monotonic()
        self._telemetry.snapshots_taken += 1
        self._telemetry.snapshot_bytes += written.bytes
        return SnapshotTaken(copy.position.version, copy.digest, written.chunks, written.written, written.bytes)

    def _due(self, tenant: Tenant) -> bool:
        if time.monotonic() < tenant.snapshot_not_before:
            return False
        new = tenant.state.version - tenant.snapshot_version
        waited = time.monotonic() - max(tenant.snapshot_at, tenant.snapshot_tried_at)
        policy = self._policy
        is_large = new >= policy.every_events or tenant.unsaved_bytes >= policy.every_bytes
        return is_large or (new > 0 and waited >= policy.every_seconds)

    async def _attempt(self, tenant: Tenant, *, last: bool = False) -> bool:
        """Take a snapshot unless another worker has taken one. A failure loses nothing: the log has all events.

        False if the store did not answer.
        """
        try:
            newest = max(await self._snapshots.versions(tenant.name), default=0)
            if newest > tenant.snapshot_version:
                tenant.snapshot_version, tenant.snapshot_at = newest, time.monotonic()
                tenant.unsaved_bytes = 0
            if tenant.state.version > tenant.snapshot_version and (last or self._due(tenant)):
                await self.take(tenant)
        except (SnapshotBusy, StoreUnavailable) as error:
            tenant.snapshot_tried_at = time.monotonic() - self._policy.every_seconds + CHECK_SECONDS  # try again soon
            logger.info("no snapshot of tenant %s: %s", tenant.name, error)
            self._telemetry.snapshots_failed += isinstance(error, StoreUnavailable)  # busy is not a failure
            return not isinstance(error, StoreUnavailable)
        except ModelNotFinite as error:  # it will last: the older snapshots stay, and the log behind them
            tenant.snapshot_not_before = time.monotonic() + self._policy.every_seconds
            self._telemetry.snapshots_failed += 1
            logger.warning("no snapshot of tenant %s: %s", tenant.name, error)
        except Exception:
            tenant.snapshot_tried_at = time.monotonic()
            self._telemetry.snapshots_failed += 1
            logger.exception("no snapshot of tenant %s", tenant.name)
        return True


@asynccontextmanager
async def locked(snapshots: SnapshotStore, name: str, wait_seconds: float = 0.0) -> AsyncIterator[str]:
    """Lock the snapshots of a tenant against other workers; raise SnapshotBusy on timeout.

    The lock of a worker that is killed ends after some seconds. So does that of a worker that is stopped for so long:
    chunks that it has written, and that no header names yet, may be gone then.
    """
    end = time.monotonic() + wait_seconds
    while (token := await snapshots.lock(name)) is None:
        if time.monotonic() >= end:
            raise SnapshotBusy(name)
        await asyncio.sleep(WAIT_SECONDS)
    renewal = asyncio.create_task(_renew(snapshots, name, token))
    try:
        yield token
    finally:
        renewal.cancel()
        try:
            await snapshots.release(name, token)
        except StoreUnavailable:
            logger.info("the snapshot lock of tenant %s is not released; it expires by itself", name)


async def _renew(snapshots: SnapshotStore, name: str, token: str) -> None:
    """Let a lock last until cancelled, or until it is lost."""
    is_held = True
    while is_held:
        await asyncio.sleep(RENEW_SECONDS)
        with suppress(StoreUnavailable):
            is_held = await snapshots.renew(name, token)


async def encode_state(tenant: Tenant) -> EncodedState:
    """Copy the state under the lock, then encode the copy in a thread."""
    room = await asyncio.to_thread(allocate_for, tenant.state)  # new memory is slow: allocate it before taking the lock
    async with tenant.lock:
        position = tenant.position
        extra = {"born": position.incarnation, "chain": position.chain}
        frozen = await asyncio.to_thread(copy_state, tenant.state, extra, room)
    header, chunk_bytes = await asyncio.to_thread(encode, frozen)
    read = await asyncio.to_thread(read_header, header)
    return EncodedState(position, header, read.chunks, chunk_bytes, read.digest)
