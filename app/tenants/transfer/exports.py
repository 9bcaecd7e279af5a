"""Exports: a model as one file, piece by piece, with the log if that is wanted."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager

import msgspec

from app.learning.snapshot.model_file import Chunk, join_file, with_log
from app.storage.event_log import EventLog
from app.storage.metadata import Position
from app.tenants.errors import LogReplaced, TooManyExports
from app.tenants.recovery import follows
from app.tenants.snapshotter import encode_state
from app.tenants.tenant import Tenant

READ_AT_ONCE = 512  # entries
PORTION_BYTES = 1 << 20


class Exports:
    """The exports in progress in this worker: each holds a copy of a model until its client has all of it."""

    def __init__(self, at_most: int, log: EventLog) -> None:
        self._at_most = at_most
        self._log = log
        self.in_progress = 0

    async def file(self, tenant: Tenant, *, has_log: bool = False) -> AsyncGenerator[bytes, None]:
        """Yield the model file of this moment in pieces; raise TooManyExports before the first one.

        The export counts until the generator ends or is closed.
        """
        with self._slot():
            copy = await encode_state(tenant)
            header, log = copy.header, dict[Chunk, bytes]()
            if has_log:
                header, log = with_log(header, *await self._portions(tenant.name, copy.position))
            for piece in join_file(header, lambda chunk: log[chunk] if chunk in log else copy.chunk_bytes(chunk)):
                yield bytes(piece)

    async def _portions(self, name: str, end: Position) -> tuple[int, list[bytes]]:
        """Return the first version of the log, and the payloads of its entries up to a position, in portions."""
        first, last = end.version + 1, None
        portions, some, size = list[bytes](), list[bytes](), 0
        version = 0
        while version < end.version and (entries := await self._log.read(name, version, READ_AT_ONCE)):
            for entry in entries:
                if entry.version > end.version:
                    break
                if last is None:
                    first = entry.version
                elif not follows(last, entry):
                    raise LogReplaced(name)
                last = Position(end.incarnation, entry.version, entry.chain)
                some.append(entry.payload)
                size += len(entry.payload)
                if size >= PORTION_BYTES:
                    portions.append(msgspec.msgpack.encode(some))
                    some, size = [], 0
            version = entries[-1].version
        if some:
            portions.append(msgspec.msgpack.encode(some))
        if last is not None and last != end:
            raise LogReplaced(name)
        return first, portions

    @contextmanager
    def _slot(self) -> Iterator[None]:
        if self.in_progress >= self._at_most:
            raise TooManyExports(self._at_most)
        self.in_progress += 1
        try:
            yield
        finally:
            self.in_progress -= 1
