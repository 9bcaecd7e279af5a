"""Imports: a model file becomes a tenant, with its log if the file has one."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from app.learning.errors import BadSnapshot, SluiceError
from app.learning.replay import advance_all
from app.learning.snapshot.chunks import Data
from app.learning.snapshot.model_file import load, log_in
from app.learning.state import TenantState
from app.storage.event_codec import decode_all
from app.storage.event_log import Entry, EventLog, new_incarnation
from app.storage.metadata import Position
from app.storage.snapshots import SnapshotStore
from app.storage.stored_tenant import TenantStore, chained
from app.tenants.cache import EndedIncarnations
from app.tenants.errors import LogReplaced, TenantExists
from app.tenants.rules import FeatureLimit
from app.tenants.snapshotter import EncodedState, encode_state, locked
from app.tenants.tenant import Tenant

ATTEMPTS = 3
LOCK_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Imports:
    """Writes model files to the store as tenants."""

    log: EventLog
    snapshots: SnapshotStore
    store: TenantStore
    features: FeatureLimit
    ended: EndedIncarnations

    async def write(self, name: str, data: bytes, *, replace: bool) -> None:
        """Make a model file a tenant; raise BadSnapshot if it is invalid, TenantExists if the tenant exists."""
        incarnation = new_incarnation()
        state, entries = await asyncio.to_thread(_read, data, incarnation)
        self.features.check_model(state.config)
        if not replace and (await self.log.meta(name)).position is not None:
            raise TenantExists(name)
        chain = entries[-1].chain if entries else incarnation
        async with locked(self.snapshots, name, LOCK_SECONDS):
            copy = await encode_state(Tenant(name, state, Position(incarnation, state.version, chain)))
            await self.snapshots.write(name, copy.chunks, copy.chunk_bytes)
            await self.store.stage(name, incarnation, entries)
            instead_of = await self._seed(name, copy, replace=replace)
            await self.snapshots.write(name, copy.chunks, copy.chunk_bytes)  # those that are gone if the lock was lost
        if instead_of:
            self.ended.add(name, instead_of)

    async def _seed(self, name: str, copy: EncodedState, *, replace: bool) -> str:
        """Start the log of a tenant from a state; return the incarnation that this replaces, or ''."""
        for _ in range(ATTEMPTS):  # others may import or repair the tenant at the same time
            stored = (await self.log.meta(name)).position
            if stored is not None and not replace:
                raise TenantExists(name)
            instead_of = stored.incarnation if stored else ""
            if await self.log.seed(name, copy.position, copy.header, instead_of=instead_of):
                return instead_of
        raise LogReplaced(name)


def _read(data: bytes, incarnation: str) -> tuple[TenantState, list[Entry]]:
    """Return the state in a file, and its log as entries of the new incarnation."""
    state, found = load(data), log_in(data)
    if found is None:
        return state, []
    first, portions = found
    payloads = _checked(state, first, portions)
    return state, chained(payloads, Position(incarnation, first - 1, incarnation))


def _checked(state: TenantState, first: int, portions: Sequence[Data]) -> list[bytes]:
    """Return the payloads of a log; BadSnapshot if it cannot be read, or does not lead to the state."""
    try:
        payloads = [each for data in portions for each in msgspec.msgpack.decode(data, type=list[bytes])]
        events = decode_all(payloads)
    except (msgspec.MsgspecError, ValueError, SluiceError, RecursionError) as error:
        raise BadSnapshot(f"the log in the file cannot be read: {error}") from None
    if first < 1 or first + len(payloads) != state.version + 1:
        raise BadSnapshot(f"the log in the file does not end at version {state.version:,} of its model")
    if first == 1:  # otherwise its beginning is missing, and it cannot be checked
        replayed = TenantState()
        advance_all(replayed, events)
        if replayed.digest != state.digest:
            raise BadSnapshot("the log in the file does not lead to its model")
    return payloads
