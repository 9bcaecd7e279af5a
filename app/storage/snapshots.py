"""Snapshots in Redis: a ladder of headers by version, and the chunks of all of them by hash."""

import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from app.learning.snapshot.chunks import Data
from app.learning.snapshot.model_file import Chunk, read_header
from app.storage.client import scripts
from app.storage.client.commands import ask, ask_each
from app.storage.client.connection import Connection
from app.storage.client.transport import Argument
from app.storage.errors import StoreDamaged
from app.storage.event_log import Meta, Position, meta_command, meta_of
from app.storage.redis_keys import keys_of

LOCK_MILLISECONDS = 60_000
BYTES_AT_ONCE = 1 << 18  # everyone waits while the store syncs so much to its disk: 0.6 ms, and 1.6 ms for a MiB


@dataclass(frozen=True, slots=True)
class Written:
    """What a new snapshot cost."""

    chunks: int
    written: int
    bytes: int


class Snapshots:
    """All snapshots of a store."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def versions(self, tenant: str) -> list[int]:
        """The versions of the kept snapshots, the newest first."""
        return _versions(await ask(self._connection, "HKEYS", keys_of(tenant).headers))

    async def versions_and_meta(self, tenant: str) -> tuple[list[int], Meta]:
        """The same, and where the log stands, in one journey."""
        commands = [("HKEYS", keys_of(tenant).headers), meta_command(tenant)]
        names, found = await ask_each(self._connection, commands)
        meta = meta_of(found)
        for answer in (names, meta):
            if isinstance(answer, StoreDamaged):
                raise answer
        assert isinstance(meta, Meta)
        return _versions(names), meta

    async def header(self, tenant: str, version: int) -> bytes | None:
        """The header of one snapshot."""
        header: bytes | None = await ask(self._connection, "HGET", keys_of(tenant).headers, version)
        return header

    async def chunks(self, tenant: str, hashes: Sequence[str]) -> dict[str, bytes]:
        """The chunks with these hashes; one that is not there is left out."""
        found: dict[str, bytes] = {}
        for some in _portions(hashes, 64):
            answers = await ask(self._connection, "HMGET", keys_of(tenant).chunks, *some)
            found |= {name: data for name, data in zip(some, answers, strict=True) if data is not None}
        return found

    async def set_aside(self, tenant: str, version: int) -> None:
        """Take a snapshot that cannot be used off the ladder; its header is kept for whoever wants to look."""
        keys = keys_of(tenant)
        header = await self.header(tenant, version)
        if header is not None:
            await ask(self._connection, "HSET", keys.aside, version, header)
        await ask(self._connection, "HDEL", keys.headers, version)

    async def lock(self, tenant: str) -> str | None:
        """A token for writing snapshots of this tenant, or None while another worker has it."""
        token = secrets.token_hex(8)
        lock = keys_of(tenant).snapshot_lock
        got = await ask(self._connection, "SET", lock, token, "NX", "PX", LOCK_MILLISECONDS)
        return token if got else None

    async def release(self, tenant: str, token: str) -> None:
        """Give the lock back."""
        await scripts.run(self._connection, scripts.Call(scripts.RELEASE, [keys_of(tenant).snapshot_lock], [token]))

    async def write(self, tenant: str, chunks: Iterable[Chunk], chunk_bytes: Callable[[Chunk], Data]) -> Written:
        """Write the chunks that are not there yet, aside: no header names them before `commit`."""
        keys = keys_of(tenant)
        held = {name.decode() for name in await ask(self._connection, "HKEYS", keys.chunks)}
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
            await ask(self._connection, "HSET", name, *chain.from_iterable(batch.items()))

    async def commit(  # noqa: PLR0913, PLR0917 - the facts of one decision
        self, tenant: str, token: str, position: Position, header: bytes, kept: int, retained_events: int
    ) -> bool:
        """Make it the newest snapshot, drop the oldest ones, what only they used, and the log behind them.

        False if the lock was lost, or the log does not lead through this position.
        """
        keys = keys_of(tenant)
        older = [version for version in await self.versions(tenant) if version != position.version]
        staying, dropped = older[: kept - 1], older[kept - 1 :]
        oldest = min([position.version, *staying])
        cut = min(oldest, position.version - retained_events)
        garbage = await self._garbage(tenant, header, staying)
        arguments: list[Argument] = [token, position.born, position.version, position.chain, header]
        arguments += [cut + 1 if cut > 0 else "", len(dropped), *dropped, *garbage]
        names = [keys.snapshot_lock, keys.meta, keys.log, keys.headers, keys.chunks]
        return bool(await scripts.run(self._connection, scripts.Call(scripts.COMMIT, names, arguments)))

    async def _garbage(self, tenant: str, header: bytes, staying: Sequence[int]) -> list[str]:
        """Chunks that neither the new header nor one that stays refers to: also those of writers that died."""
        used = {chunk.hash for chunk in read_header(header).chunks}
        for version in staying:
            if kept := await self.header(tenant, version):
                used |= {chunk.hash for chunk in read_header(kept).chunks}
        held = {name.decode() for name in await ask(self._connection, "HKEYS", keys_of(tenant).chunks)}
        return sorted(held - used)


def _versions(names: Iterable[bytes]) -> list[int]:
    return sorted((int(name) for name in names if name.isdigit()), reverse=True)


def _portions(items: Sequence[str], size: int) -> Iterable[Sequence[str]]:
    return (items[start : start + size] for start in range(0, len(items), size))
