"""Snapshots in Redis: headers by version, and the chunks of all of them by hash."""

import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from redis.exceptions import NoPermissionError

from app.learning.snapshot.chunks import Data
from app.learning.snapshot.model_file import Chunk, read_header
from app.storage.client import scripts
from app.storage.client.connection import Call, Connection
from app.storage.client.failures import store_errors
from app.storage.client.wire import Argument
from app.storage.errors import StoreDamaged
from app.storage.metadata import Meta, Position, meta_command, parse_meta
from app.storage.redis_keys import keys_of

LOCK_MILLISECONDS = 20_000  # after its owner's last sign of life
SPACING = 3  # of the ages of snapshots from long ago
BYTES_AT_ONCE = 1 << 18  # a sync of this much to disk blocks the store for 0.6 ms; a MiB takes 1.6 ms


@dataclass(frozen=True, slots=True)
class Written:
    """The chunks and bytes of a new snapshot, and how many of its chunks were new."""

    chunks: int
    written: int
    bytes: int


class SnapshotStore:
    """The snapshots of all tenants."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def versions(self, tenant: str) -> list[int]:
        """Return the versions of the kept snapshots, newest first."""
        return _versions(await self._connection.ask("HKEYS", keys_of(tenant).headers))

    async def versions_and_meta(self, tenant: str) -> tuple[list[int], Meta]:
        """Return the versions and the metadata of the log, in one round trip."""
        commands = [("HKEYS", keys_of(tenant).headers), meta_command(tenant)]
        names, found = await self._connection.ask_each(commands)
        meta = parse_meta(found)
        for answer in (names, meta):
            if isinstance(answer, StoreDamaged):
                raise answer
        assert isinstance(meta, Meta)
        return _versions(names), meta

    async def header(self, tenant: str, version: int) -> bytes | None:
        """Return the header of one snapshot."""
        header: bytes | None = await self._connection.ask("HGET", keys_of(tenant).headers, version)
        return header

    async def chunks(self, tenant: str, hashes: Sequence[str]) -> dict[str, bytes]:
        """Return the chunks with these hashes, without those that are missing."""
        found: dict[str, bytes] = {}
        for some in _portions(hashes, 64):
            answers = await self._connection.ask("HMGET", keys_of(tenant).chunks, *some)
            found |= {name: data for name, data in zip(some, answers, strict=True) if data is not None}
        return found

    async def set_aside(self, tenant: str, incarnation: str, version: int) -> bool:
        """Remove a snapshot that cannot be used; its header is kept for an operator to inspect.

        False if the tenant is another incarnation by now, whose snapshot it may be.
        """
        keys = keys_of(tenant)
        call = Call(scripts.SET_ASIDE, [keys.meta, keys.headers, keys.aside], [incarnation, version])
        return bool(await self._connection.run(call))

    async def lock(self, tenant: str) -> str | None:
        """Lock the snapshots of a tenant; return the token, or None while another worker has the lock."""
        token = secrets.token_hex(8)
        lock = keys_of(tenant).snapshot_lock
        got = await self._connection.ask("SET", lock, token, "NX", "PX", LOCK_MILLISECONDS)
        return token if got else None

    async def renew(self, tenant: str, token: str) -> bool:
        """Let the lock last longer; False if it was lost."""
        call = Call(scripts.RENEW, [keys_of(tenant).snapshot_lock], [token, LOCK_MILLISECONDS])
        return bool(await self._connection.run(call))

    async def release(self, tenant: str, token: str) -> None:
        """Release the lock."""
        await self._connection.run(Call(scripts.RELEASE, [keys_of(tenant).snapshot_lock], [token]))

    async def write(self, tenant: str, chunks: Iterable[Chunk], chunk_bytes: Callable[[Chunk], Data]) -> Written:
        """Write the chunks that are missing; no header refers to them before `commit`."""
        keys = keys_of(tenant)
        held = {name.decode() for name in await self._connection.ask("HKEYS", keys.chunks)}
        wanted = {chunk.hash: chunk for chunk in chunks}
        new = [chunk for name, chunk in wanted.items() if name not in held]
        batch: dict[str, Data] = {}
        for chunk in new:
            batch[chunk.hash] = chunk_bytes(chunk)
            if sum(map(len, batch.values())) >= BYTES_AT_ONCE:
                await self._put(keys.chunks, batch)
                batch = {}
        await self._put(keys.chunks, batch)
        return Written(len(wanted), len(new), sum(chunk.size for chunk in new))

    async def _put(self, name: str, batch: dict[str, Data]) -> None:
        if batch:
            await self._connection.ask("HSET", name, *chain.from_iterable(batch.items()))

    async def commit(  # noqa: PLR0913, PLR0917 - the facts of one decision
        self, tenant: str, token: str, position: Position, header: bytes, kept: int, retained_events: int
    ) -> bool:
        """Make it the newest snapshot; drop the oldest ones, the chunks that only they used, and the log before them.

        False if the lock was lost, or the log did not pass through this position.
        """
        keys = keys_of(tenant)
        older = [version for version in await self.versions(tenant) if version != position.version]
        staying = ladder(older, position.version, kept, retained_events)
        dropped = [version for version in older if version not in staying]
        oldest = min([position.version, *staying])
        cut = min(oldest, position.version - retained_events)
        garbage = await self._garbage(tenant, header, staying)
        arguments: list[Argument] = [token, position.incarnation, position.version, position.chain, header]
        arguments += [cut + 1 if cut > 0 else "", len(dropped), *dropped, *garbage]
        names = [keys.snapshot_lock, keys.meta, keys.log, keys.headers, keys.chunks]
        return bool(await self._connection.run(Call(scripts.COMMIT, names, arguments)))

    async def events_within(self, tenant: str, events: int, log_bytes: int) -> int:
        """Return how many of the last events a log may keep so that it takes at most these bytes; `events` if all.

        An estimate, by the mean size of an event: the next snapshot estimates again.
        """
        key = keys_of(tenant).log
        with store_errors(self._connection.shown):
            try:
                used = await self._connection.redis.memory_usage(key)
            except NoPermissionError:
                return events
        if used is None or used <= log_bytes:
            return events
        return min(events, int(await self._connection.ask("XLEN", key)) * log_bytes // used)

    async def _garbage(self, tenant: str, header: bytes, staying: Sequence[int]) -> list[str]:
        """Return the chunks without a header that stays, including those of writers that died."""
        used = {chunk.hash for chunk in read_header(header).chunks}
        for version in staying:
            if kept := await self.header(tenant, version):
                used |= {chunk.hash for chunk in read_header(kept).chunks}
        held = {name.decode() for name in await self._connection.ask("HKEYS", keys_of(tenant).chunks)}
        return sorted(held - used)


def ladder(older: Sequence[int], newest: int, kept: int, reach: int) -> list[int]:
    """Return which of the older snapshots stay, given newest first: the last ones, and few from long ago.

    Of those that are not among the last ones, but within reach, one goes if the next older one is at most three times
    as old as the next newer one. So what a retraction replays is in proportion to the age of the label.
    """
    staying = list(older[: kept - 1])
    rest = [version for version in older[kept - 1 :] if newest - version <= reach]
    for place, version in enumerate(rest):
        newer = newest - staying[-1] if staying else 0
        is_last = place + 1 == len(rest)
        if is_last or newest - rest[place + 1] > SPACING * newer:
            staying.append(version)
    return staying


def _versions(names: Iterable[bytes]) -> list[int]:
    return sorted((int(name) for name in names if name.isdigit()), reverse=True)


def _portions(items: Sequence[str], size: int) -> Iterable[Sequence[str]]:
    return (items[start : start + size] for start in range(0, len(items), size))
