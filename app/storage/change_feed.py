"""The change feeds: one small stream per shard that says whose log has grown."""

import asyncio
from collections.abc import Sequence
from typing import Any

from redis.asyncio import Redis

from app.storage.client.commands import ask_all, ask_nodes
from app.storage.client.connection import AnyRedis, Connection, store_errors
from app.storage.client.transport import Argument, exchange
from app.storage.errors import StoreDamaged, StoreUnavailable
from app.storage.event_log import changes_in
from app.storage.redis_keys import SHARDS, changes_of, keys_of

FEEDS = tuple(changes_of(shard) for shard in SHARDS)
BLOCK_MILLISECONDS = 1000
REST_SECONDS = 0.02  # after changes: asking costs what a dozen labels cost, so what comes meanwhile is read together
POLL_SECONDS = 0.05  # in a cluster, where no command can wait for streams of several slots

Entries = list[tuple[bytes, list[bytes]]]  # ids and fields, as Redis answers


class Feeds:
    """Where this worker has come in each feed."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._blocking: AnyRedis | None = None
        self._seen: dict[str, bytes] = {}
        self._ends: dict[str, bytes] = {}  # the same as Redis reads it
        self._head = b""
        self._found = False
        self.away: dict[str, str] = {}  # feeds on nodes of a cluster that gave no answer when last asked, and why

    def is_away(self, tenant: str) -> bool:
        """Whether the node that has this tenant gave no answer while others did."""
        return bool(self.away) and keys_of(tenant).changes in self.away

    @property
    def are_partly_there(self) -> bool:
        """Whether some nodes of a cluster answer; one server is there, or it is not."""
        return self._connection.is_cluster and len(self.away) < len(FEEDS)

    async def begin(self) -> None:
        """Go to the end of every feed: what is loaded from now on is loaded with all that stands before.

        Those of a node that is away begin when it is back; what was loaded before is looked at every second anyway.
        """
        if self._connection.is_cluster:
            await self._asked_for(FEEDS)
            self._raise_if_all_are_away()
            return
        ends = await ask_all(self._connection, [_end_of(feed) for feed in FEEDS])
        for feed, end in zip(FEEDS, ends, strict=True):
            self._come_to(feed, end[0][0] if end else b"0-0")
        arguments = [b"XREAD", b"COUNT", b"1000", b"BLOCK", b"%d" % BLOCK_MILLISECONDS, b"STREAMS"]
        arguments += [feed.encode() for feed in self._seen]
        self._head = b"*%d\r\n" % (len(arguments) + len(self._ends)) + b"".join(map(_packed, arguments))

    async def changes(self) -> dict[str, int]:
        """Wait a while for changes: whose logs have grown, and to which version (-1: deleted or replaced)."""
        found = await (self._polled() if self._connection.is_cluster else self._waited())
        changes: dict[str, int] = {}
        for feed, entries in found:
            self._come_to(feed, entries[-1][0])
            changes.update(changes_in(_fields(pairs)) for _, pairs in entries)
        return changes

    async def _waited(self) -> list[tuple[str, Entries]]:
        if self._blocking is None:
            self._blocking = self._connection.blocking()
        if self._found:
            await asyncio.sleep(REST_SECONDS)
        with store_errors(self._connection.shown):
            answer = await self._asked(self._blocking)
        self._found = bool(answer)
        return [(feed.decode(), entries) for feed, entries in answer or ()]

    async def _asked(self, client: AnyRedis) -> Any:  # noqa: ANN401 - as Redis answers
        """Send the command as bytes: redis-py takes 0.4 ms to write its 518 arguments."""
        assert isinstance(client, Redis)
        (answer,) = await exchange(client, b"".join([self._head, *self._ends.values()]), 1)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _come_to(self, feed: str, end: bytes) -> None:
        self._seen[feed] = end
        self._ends[feed] = _packed(end)

    async def _polled(self) -> list[tuple[str, Entries]]:
        """What is new where a node answers. StoreUnavailable if none does."""
        await asyncio.sleep(POLL_SECONDS)
        # A node that hangs would hold up the others each time: what is away is asked for aside, by `find_again`.
        found = await self._asked_for([feed for feed in FEEDS if feed not in self.away] or FEEDS)
        self._raise_if_all_are_away()
        return found

    async def find_again(self) -> None:
        """Ask whether feeds that are away are there again; `changes` then goes on with them where it was.

        StoreUnavailable if all are away, and stay so.
        """
        if self.away:
            try:
                await self._asked_for(list(self.away))
            except StoreDamaged:
                self.away.clear()  # `changes` will tell
        self._raise_if_all_are_away()

    async def _asked_for(self, feeds: Sequence[str]) -> list[tuple[str, Entries]]:
        commands = [_behind(feed, self._seen[feed]) if feed in self._seen else _end_of(feed) for feed in feeds]
        try:
            answers = await ask_nodes(self._connection, commands)
        except StoreUnavailable as error:  # not even one of the nodes says where the others are
            answers = [error] * len(feeds)
        return [(feed, answer) for feed, answer in zip(feeds, answers, strict=True) if self._is_new(feed, answer)]

    def _is_new(self, feed: str, answer: Entries | StoreUnavailable) -> bool:
        """Note whether a feed is there; whether this tells of changes."""
        if isinstance(answer, StoreUnavailable):
            self.away[feed] = str(answer)
            return False
        self.away.pop(feed, None)
        if feed not in self._seen:
            self._come_to(feed, answer[0][0] if answer else b"0-0")
            return False
        return bool(answer)

    def _raise_if_all_are_away(self) -> None:
        if len(self.away) == len(FEEDS):
            raise StoreUnavailable(next(iter(self.away.values())))


def _end_of(feed: str) -> tuple[Argument, ...]:
    return ("XREVRANGE", feed, "+", "-", "COUNT", 1)


def _behind(feed: str, seen: bytes) -> tuple[Argument, ...]:
    return ("XRANGE", feed, b"(" + seen, "+", "COUNT", 1000)


def _packed(argument: bytes) -> bytes:
    """An argument of a command on its way to Redis."""
    return b"$%d\r\n%b\r\n" % (len(argument), argument)


def _fields(pairs: Sequence[bytes]) -> dict[bytes, bytes]:
    return dict(zip(pairs[::2], pairs[1::2], strict=True))
