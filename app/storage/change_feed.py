"""The change feeds: one small stream per shard that says which logs have grown."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from redis.asyncio import Redis

from app.storage.client.connection import Connection, exchange
from app.storage.client.failures import store_errors
from app.storage.errors import StoreDamaged, StoreUnavailable
from app.storage.redis_keys import SHARDS, changes_of, keys_of

FEEDS = tuple(changes_of(shard) for shard in SHARDS)
BLOCK_MILLISECONDS = 1000
REST_SECONDS = 0.02  # after changes: a read costs as much as a dozen labels, so later changes are read together
POLL_SECONDS = 0.05  # in a cluster, where no command can block on streams of several slots

Entries = list[tuple[bytes, list[bytes]]]  # ids and fields, as Redis answers


class ChangeFeeds:
    """The position of this worker in every feed."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._blocking: Any = None
        self._seen: dict[str, bytes] = {}
        self._packed_ids: dict[str, bytes] = {}  # the same ids in the protocol of Redis
        self._packed_head = b""
        self._found = False
        self.away: dict[str, str] = {}  # feeds on cluster nodes that did not answer last time, with the reason

    def is_away(self, tenant: str) -> bool:
        """Whether the cluster node of a tenant does not answer while others do."""
        return bool(self.away) and keys_of(tenant).changes in self.away

    @property
    def are_partly_available(self) -> bool:
        """Whether some nodes of a cluster answer. A single server is either there or not."""
        return self._connection.is_cluster and len(self.away) < len(FEEDS)

    async def begin(self) -> None:
        """Go to the end of every feed: a tenant that is loaded from now on is loaded with all earlier events.

        Feeds of a node that is down begin when it is back; the periodic comparison covers tenants loaded before.
        """
        if self._connection.is_cluster:
            await self._read(FEEDS)
            self._raise_if_all_are_away()
            return
        ends = await self._connection.ask_all([_end_of(feed) for feed in FEEDS])
        for feed, end in zip(FEEDS, ends, strict=True):
            self._move_to(feed, end[0][0] if end else b"0-0")
        arguments = [b"XREAD", b"COUNT", b"1000", b"BLOCK", b"%d" % BLOCK_MILLISECONDS, b"STREAMS"]
        arguments += [feed.encode() for feed in self._seen]
        count = len(arguments) + len(self._packed_ids)
        self._packed_head = b"*%d\r\n" % count + b"".join(map(_pack_argument, arguments))

    async def changes(self) -> dict[str, int]:
        """Wait for changes: the tenants whose logs have grown, and their versions (-1: deleted or replaced)."""
        found = await (self._poll() if self._connection.is_cluster else self._block())
        changes: dict[str, int] = {}
        for feed, entries in found:
            self._move_to(feed, entries[-1][0])
            changes.update(_change(dict(zip(pairs[::2], pairs[1::2], strict=True))) for _, pairs in entries)
        return changes

    async def recheck_away(self) -> None:
        """Ask whether feeds that are away are back; `changes` then continues at their last positions.

        Raise StoreUnavailable if all feeds stay away.
        """
        if self.away:
            try:
                await self._read(list(self.away))
            except StoreDamaged:
                self.away.clear()  # `changes` will raise it
        self._raise_if_all_are_away()

    async def _block(self) -> list[tuple[str, Entries]]:
        if self._blocking is None:
            self._blocking = self._connection.blocking()
        assert isinstance(self._blocking, Redis)
        if self._found:
            await asyncio.sleep(REST_SECONDS)
        # The command is built from packed parts: redis-py takes 0.4 ms to write its 518 arguments.
        command = b"".join([self._packed_head, *self._packed_ids.values()])
        with store_errors(self._connection.shown):
            (answer,) = await exchange(self._blocking, command, 1)
            if isinstance(answer, Exception):
                raise answer
        self._found = bool(answer)
        return [(feed.decode(), entries) for feed, entries in answer or ()]

    async def _poll(self) -> list[tuple[str, Entries]]:
        """Read the feeds of all nodes that answer. Raise StoreUnavailable if none does."""
        await asyncio.sleep(POLL_SECONDS)
        # A node that hangs would delay the others each time, so `recheck_away` asks for feeds that are away.
        found = await self._read([feed for feed in FEEDS if feed not in self.away] or FEEDS)
        self._raise_if_all_are_away()
        return found

    async def _read(self, feeds: Sequence[str]) -> list[tuple[str, Entries]]:
        commands = [_after(feed, self._seen[feed]) if feed in self._seen else _end_of(feed) for feed in feeds]
        try:
            answers = await self._connection.ask_nodes(commands)
        except StoreUnavailable as error:  # no node answers the discovery
            answers = [error] * len(feeds)
        return [(feed, answer) for feed, answer in zip(feeds, answers, strict=True) if self._has_news(feed, answer)]

    def _has_news(self, feed: str, answer: Entries | StoreUnavailable) -> bool:
        """Note whether a feed is away; return whether the answer has changes."""
        if isinstance(answer, StoreUnavailable):
            self.away[feed] = str(answer)
            return False
        self.away.pop(feed, None)
        if feed not in self._seen:
            self._move_to(feed, answer[0][0] if answer else b"0-0")
            return False
        return bool(answer)

    def _move_to(self, feed: str, entry_id: bytes) -> None:
        self._seen[feed] = entry_id
        self._packed_ids[feed] = _pack_argument(entry_id)

    def _raise_if_all_are_away(self) -> None:
        if len(self.away) == len(FEEDS):
            raise StoreUnavailable(next(iter(self.away.values())))


def _end_of(feed: str) -> tuple[str | int, ...]:
    return ("XREVRANGE", feed, "+", "-", "COUNT", 1)


def _after(feed: str, entry_id: bytes) -> tuple[str | bytes | int, ...]:
    return ("XRANGE", feed, b"(" + entry_id, "+", "COUNT", 1000)


def _change(fields: Mapping[bytes, bytes]) -> tuple[str, int]:
    """Return the tenant and the new version of its log."""
    return fields[b"t"].decode(), int(fields[b"v"])


def _pack_argument(argument: bytes) -> bytes:
    return b"$%d\r\n%b\r\n" % (len(argument), argument)
