"""The change feeds: one small stream per shard that says which logs have grown.

A feed is only a hint: the periodic comparison finds what it does not announce. So a feed that is damaged is dropped.
"""

import asyncio
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from redis.asyncio import Redis

from app.storage.client.connection import Connection
from app.storage.client.failures import store_error, store_errors
from app.storage.client.wire import exchange
from app.storage.errors import StoreDamaged, StoreUnavailable
from app.storage.redis_keys import SHARDS, changes_of, keys_of

FEEDS = tuple(changes_of(shard) for shard in SHARDS)
BLOCK_MILLISECONDS = 1000
REST_SECONDS = 0.02  # after changes: a read costs as much as a dozen labels, so later changes are read together
CHECK_SECONDS = 10.0  # between two checks that no position is beyond the end of its feed
DELETED = -1  # the version of a tenant that was deleted, or replaced by an import
POLL_SECONDS = 0.05  # in a cluster, where no command can block on streams of several slots

Entries = list[tuple[bytes, list[bytes]]]  # ids and fields, as Redis answers
START = b"0-0"

logger = logging.getLogger("sluice.storage")


class ChangeFeeds:
    """The position of this worker in every feed."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._blocking: Any = None
        self._seen: dict[str, bytes] = {}
        self._packed_ids: dict[str, bytes] = {}  # the same ids in the protocol of Redis
        self._packed_head = b""
        self._found = False
        self._check_at = 0.0
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
        self._check_at = time.monotonic() + CHECK_SECONDS
        if self._connection.is_cluster:
            await self._read(FEEDS)
            self._raise_if_all_are_away()
            return
        for feed, end in zip(FEEDS, await self._connection.ask_each([_end_of(feed) for feed in FEEDS]), strict=True):
            self._move_to(feed, START if isinstance(end, StoreDamaged) else _last(end))
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
            for tenant, version in _changes(feed, entries):
                if changes.get(tenant) != DELETED:  # the tenant may have been created again since
                    changes[tenant] = version
        return changes

    async def recheck(self) -> None:
        """Ask whether feeds that are away are back; `changes` then continues at their last positions.

        Now and then, also look for positions beyond the end of a feed. Raise StoreUnavailable if all feeds stay away.
        """
        if self.away:
            await self._read(list(self.away))
        self._raise_if_all_are_away()
        if time.monotonic() >= self._check_at:
            await self.return_to_ends()
            self._check_at = time.monotonic() + CHECK_SECONDS

    async def return_to_ends(self) -> None:
        """Move positions that are beyond the end of their feed back to it: nothing would ever be read there.

        That happens if the clock of the store was ahead, and then an older copy of its data was restored.
        """
        positions = {feed: entry_id for feed, entry_id in self._seen.items() if feed not in self.away}
        ends = await self._connection.ask_nodes([_end_of(feed) for feed in positions])
        for (feed, position), end in zip(positions.items(), ends, strict=True):
            if isinstance(end, Exception) or self._seen[feed] != position:
                continue
            last = _last(end)
            if _number(last) < _number(position):
                logger.warning("change feed %s ends at %r, before our position %r; going back", feed, last, position)
                self._move_to(feed, last)

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
            error = store_error(answer, self._connection.shown)
            if isinstance(error, StoreDamaged):
                await self._drop_damaged()
                return []
            raise error or answer
        self._found = bool(answer)
        return [(feed.decode(), entries) for feed, entries in answer or ()]

    async def _poll(self) -> list[tuple[str, Entries]]:
        """Read the feeds of all nodes that answer. Raise StoreUnavailable if none does."""
        await asyncio.sleep(POLL_SECONDS)
        # A node that hangs would delay the others each time, so `recheck` asks for feeds that are away.
        found = await self._read([feed for feed in FEEDS if feed not in self.away] or FEEDS)
        self._raise_if_all_are_away()
        return found

    async def _read(self, feeds: Sequence[str]) -> list[tuple[str, Entries]]:
        commands = [_after(feed, self._seen[feed]) if feed in self._seen else _end_of(feed) for feed in feeds]
        try:
            answers = await self._connection.ask_nodes(commands)
        except StoreUnavailable as error:  # no node answers the discovery
            answers = [error] * len(feeds)
        damaged = [feed for feed, answer in zip(feeds, answers, strict=True) if isinstance(answer, StoreDamaged)]
        if damaged:
            await self._drop(damaged)
        return [(feed, answer) for feed, answer in zip(feeds, answers, strict=True) if self._has_news(feed, answer)]

    def _has_news(self, feed: str, answer: Entries | StoreUnavailable | StoreDamaged) -> bool:
        """Note whether a feed is away; return whether the answer has changes."""
        if isinstance(answer, StoreUnavailable):
            self.away[feed] = str(answer)
            return False
        self.away.pop(feed, None)
        if isinstance(answer, StoreDamaged):
            return False
        if feed not in self._seen:
            self._move_to(feed, _last(answer))
            return False
        return bool(answer)

    async def _drop_damaged(self) -> None:
        """Drop the feeds that cannot be read; a read of all feeds does not say which they are."""
        answers = await self._connection.ask_nodes([_end_of(feed) for feed in FEEDS])
        await self._drop([feed for feed, end in zip(FEEDS, answers, strict=True) if isinstance(end, StoreDamaged)])

    async def _drop(self, feeds: Sequence[str]) -> None:
        for feed in feeds:
            logger.error("change feed %s was not a stream and is dropped; the logs are compared instead", feed)
            self._move_to(feed, START)
        await self._connection.ask_nodes([("DEL", feed) for feed in feeds])

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


def _changes(feed: str, entries: Entries) -> Iterator[tuple[str, int]]:
    """Yield the tenants and the new versions of their logs; skip entries that Sluice has not written."""
    for entry_id, pairs in entries:
        try:
            yield _change(dict(zip(pairs[::2], pairs[1::2], strict=True)))
        except (KeyError, ValueError):
            logger.warning("entry %r of change feed %s is not an announcement of Sluice", entry_id, feed)


def _change(fields: Mapping[bytes, bytes]) -> tuple[str, int]:
    """Return the tenant and the new version of its log."""
    return fields[b"t"].decode(), int(fields[b"v"])


def _last(end: Entries) -> bytes:
    """Return the last id of a feed."""
    return end[0][0] if end else START


def _number(entry_id: bytes) -> tuple[int, ...]:
    """Return an id in a form that can be compared."""
    return tuple(map(int, entry_id.split(b"-")))


def _pack_argument(argument: bytes) -> bytes:
    return b"$%d\r\n%b\r\n" % (len(argument), argument)
