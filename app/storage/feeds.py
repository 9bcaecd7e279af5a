"""The change feeds: one small stream per shard that says whose log has grown."""

import asyncio
from collections.abc import Sequence
from typing import Any

from redis.asyncio import Redis

from app.storage.asking import ask_all
from app.storage.connecting import AnyRedis, Connection, store_errors
from app.storage.keys import SHARDS, changes_of
from app.storage.log import changes_in

BLOCK_MILLISECONDS = 1000
REST_SECONDS = 0.005  # after changes: asking costs what a dozen labels cost, so what comes meanwhile is read together
POLL_SECONDS = 0.05  # in a cluster, where no command can wait for streams of several slots


class Feeds:
    """Where this worker has come in each feed."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._blocking: AnyRedis | None = None
        self._seen: dict[str, bytes] = {}
        self._ends: dict[str, bytes] = {}  # the same as Redis reads it
        self._head = b""
        self._found = False

    async def begin(self) -> None:
        """Go to the end of every feed: what is loaded from now on is loaded with all that stands before."""
        commands = [("XREVRANGE", changes_of(shard), "+", "-", "COUNT", 1) for shard in SHARDS]
        ends = await ask_all(self._connection, commands)
        for shard, end in zip(SHARDS, ends, strict=True):
            self._come_to(changes_of(shard), end[0][0] if end else b"0-0")
        arguments = [b"XREAD", b"COUNT", b"1000", b"BLOCK", b"%d" % BLOCK_MILLISECONDS, b"STREAMS"]
        arguments += [feed.encode() for feed in self._seen]
        self._head = b"*%d\r\n" % (len(arguments) + len(self._ends)) + b"".join(map(_packed, arguments))

    async def changes(self) -> dict[str, int]:
        """Wait a while for changes: whose logs have grown, and to which version (-1: deleted or replaced)."""
        found = await (self._polled() if self._connection.is_cluster else self._waited())
        changes: dict[str, int] = {}
        for feed, entries in found:
            self._come_to(feed, entries[-1][0])
            changes.update(changes_in(fields) for _, fields in entries)
        return changes

    async def _waited(self) -> list[tuple[str, list[tuple[bytes, dict[bytes, bytes]]]]]:
        if self._blocking is None:
            self._blocking = self._connection.blocking()
        if self._found:
            await asyncio.sleep(REST_SECONDS)
        with store_errors(self._connection.shown):
            answer = await self._asked(self._blocking)
        self._found = bool(answer)
        return [(feed.decode(), [(name, _fields(pairs)) for name, pairs in entries]) for feed, entries in answer or ()]

    async def _asked(self, client: AnyRedis) -> Any:  # noqa: ANN401 - as Redis answers
        """Send the command as bytes: redis-py takes 0.4 ms to write its 518 arguments."""
        assert isinstance(client, Redis)
        pool = client.connection_pool
        connection = await pool.get_connection()  # type: ignore[no-untyped-call]
        try:
            await connection.send_packed_command(b"".join([self._head, *self._ends.values()]))
            return await connection.read_response()
        finally:
            await pool.release(connection)

    def _come_to(self, feed: str, end: bytes) -> None:
        self._seen[feed] = end
        self._ends[feed] = _packed(end)

    async def _polled(self) -> list[tuple[str, list[tuple[bytes, dict[bytes, bytes]]]]]:
        await asyncio.sleep(POLL_SECONDS)
        commands = [("XRANGE", feed, b"(" + seen, "+", "COUNT", 1000) for feed, seen in self._seen.items()]
        answers = await ask_all(self._connection, commands)
        return [(feed, entries) for feed, entries in zip(self._seen, answers, strict=True) if entries]


def _packed(argument: bytes) -> bytes:
    """An argument of a command on its way to Redis."""
    return b"$%d\r\n%b\r\n" % (len(argument), argument)


def _fields(pairs: Sequence[bytes]) -> dict[bytes, bytes]:
    return dict(zip(pairs[::2], pairs[1::2], strict=True))
