"""Taking snapshots: by events, by time, when asked, and before the end; one worker at a time for each tenant."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from app.learning.errors import ModelNotFinite
from app.learning.snapshot.chunks import Data
from app.learning.snapshot.model_file import Chunk, encode, join_file, read_header
from app.learning.snapshot.state_copy import allocate_for, copy_state
from app.storage.errors import StoreUnavailable
from app.storage.event_log import Position
from app.storage.snapshots import Snapshots, Written
from app.telemetry.counters import Telemetry
from app.tenants.errors import SnapshotBusy
from app.tenants.tenant import Tenant

logger = logging.getLogger("sluice.tenants")

LOOK_SECONDS = 1.0
WAIT_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Policy:
    """When snapshots are taken, and what is kept."""

    every_events: int = 10_000
    every_seconds: float = 300.0
    kept: int = 3
    retained_events: int = 100_000


@dataclass(frozen=True, slots=True)
class SnapshotTaken:
    """A snapshot, and what it cost to write."""

    version: int
    digest: str
    chunks: int
    written: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Picture:
    """A state as bytes, with its place in the log."""

    position: Position
    header: bytes
    chunks: list[Chunk]
    chunk_bytes: Callable[[Chunk], Data]
    digest: str

    def file(self) -> Iterator[Data]:
        """The same as the bytes of one model file, piece by piece."""
        return join_file(self.header, self.chunk_bytes)


class Snapshotter:
    """Takes the snapshots of this worker's tenants."""

    def __init__(
        self, snapshots: Snapshots, policy: Policy, unsaved: MutableMapping[str, Tenant], telemetry: Telemetry
    ) -> None:
        self._snapshots = snapshots
        self._telemetry = telemetry
        self._policy = policy
        self._unsaved = unsaved  # a look at every tenant in memory would take long where there are many

    async def run(self) -> None:
        """Look every second whose turn it is, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            for tenant in list(self._unsaved.values()):
                if tenant.state.version > tenant.snapshot_version:
                    if self._due(tenant):
                        await self._attempt(tenant)
                elif self._unsaved.get(tenant.name) is tenant:
                    del self._unsaved[tenant.name]

    async def take(self, tenant: Tenant) -> SnapshotTaken:
        """Take a snapshot now; SnapshotBusy while another worker is at it."""
        async with locked(self._snapshots, tenant.name) as token:
            picture = await take_picture(tenant)
            written = await self._snapshots.write(tenant.name, picture.chunks, picture.chunk_bytes)
            policy = self._policy
            committed = await self._snapshots.commit(
                tenant.name, token, picture.position, picture.header, policy.kept, policy.retained_events
            )
            if not committed:
                raise SnapshotBusy(tenant.name)
        return self._taken(tenant, picture, written)

    async def take_all(self, seconds: float) -> None:
        """Before the end: those that have learnt something since their last snapshot, as far as the time allows."""
        end = time.monotonic() + seconds
        behind = [tenant for tenant in self._unsaved.values() if tenant.state.version > tenant.snapshot_version]
        for tenant in sorted(behind, key=lambda tenant: tenant.snapshot_version - tenant.state.version):
            if time.monotonic() > end:
                logger.info("no time was left for some snapshots; their logs have everything")
                return
            if not await self._attempt(tenant, last=True):
                return  # the store is away: the others would wait for nothing

    def _taken(self, tenant: Tenant, picture: Picture, written: Written) -> SnapshotTaken:
        tenant.snapshot_version = picture.position.version
        tenant.snapshot_at = time.monotonic()
        self._telemetry.snapshots_taken += 1
        self._telemetry.snapshot_bytes += written.bytes
        return SnapshotTaken(picture.position.version, picture.digest, written.chunks, written.written, written.bytes)

    def _due(self, tenant: Tenant) -> bool:
        if time.monotonic() < tenant.snapshot_not_before:
            return False
        new = tenant.state.version - tenant.snapshot_version
        waited = time.monotonic() - max(tenant.snapshot_at, tenant.snapshot_tried_at)
        return new >= self._policy.every_events or (new > 0 and waited >= self._policy.every_seconds)

    async def _attempt(self, tenant: Tenant, *, last: bool = False) -> bool:
        """Take one unless another worker has done so meanwhile; a failure is not the end: the log has everything.

        False if the store did not answer.
        """
        try:
            newest = max(await self._snapshots.versions(tenant.name), default=0)
            if newest > tenant.snapshot_version:
                tenant.snapshot_version, tenant.snapshot_at = newest, time.monotonic()
            if tenant.state.version > tenant.snapshot_version and (last or self._due(tenant)):
                await self.take(tenant)
        except (SnapshotBusy, StoreUnavailable) as error:
            tenant.snapshot_tried_at = time.monotonic() - self._policy.every_seconds + LOOK_SECONDS  # soon again
            logger.info("no snapshot of tenant %s: %s", tenant.name, error)
            self._telemetry.snapshots_failed += isinstance(error, StoreUnavailable)  # busy: another worker is at it
            return not isinstance(error, StoreUnavailable)
        except ModelNotFinite as error:  # it will be so for long: the older snapshots stay, and the log behind them
            tenant.snapshot_not_before = time.monotonic() + self._policy.every_seconds
            self._telemetry.snapshots_failed += 1
            logger.warning("no snapshot of tenant %s: %s", tenant.name, error)
        except Exception:
            tenant.snapshot_tried_at = time.monotonic()
            self._telemetry.snapshots_failed += 1
            logger.exception("no snapshot of tenant %s", tenant.name)
        return True


@asynccontextmanager
async def locked(snapshots: Snapshots, name: str, wait_seconds: float = 0.0) -> AsyncIterator[str]:
    """Nobody else writes or clears away chunks of this tenant meanwhile; SnapshotBusy if that cannot be had."""
    end = time.monotonic() + wait_seconds
    while (token := await snapshots.lock(name)) is None:
        if time.monotonic() >= end:
            raise SnapshotBusy(name)
        await asyncio.sleep(WAIT_SECONDS)
    try:
        yield token
    finally:
        try:
            await snapshots.release(name, token)
        except StoreUnavailable:
            logger.info("the snapshot lock of tenant %s will expire by itself", name)


async def take_picture(tenant: Tenant, born: str | None = None, chain: str | None = None) -> Picture:
    """Copy the state while nothing is learnt, then turn the copy into bytes beside the event loop."""
    room = await asyncio.to_thread(allocate_for, tenant.state)  # fresh memory is slow: get it before others must wait
    async with tenant.steady():
        position = Position(born or tenant.born, tenant.state.version, chain or tenant.chain)
        frozen = await asyncio.to_thread(
            copy_state, tenant.state, {"born": position.born, "chain": position.chain}, room
        )
    header, chunk_bytes = await asyncio.to_thread(encode, frozen)
    read = await asyncio.to_thread(read_header, header)
    return Picture(position, header, read.chunks, chunk_bytes, read.digest)
