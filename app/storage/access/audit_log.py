"""The audit log: a stream to which entries are only added. The oldest are dropped beyond a limit."""

from collections.abc import AsyncIterator

from app.storage.client.connection import Connection
from app.storage.redis_keys import AUDIT

PAGE = 500


class AuditLog:
    """Entries in the order in which they were added."""

    def __init__(self, connection: Connection, at_most: int) -> None:
        self._connection = connection
        self.at_most = at_most

    async def append(self, entry: bytes) -> None:
        """Add an entry."""
        await self._connection.write("XADD", AUDIT, "MAXLEN", "~", self.at_most, "*", "e", entry)

    async def read(self, since_milliseconds: int = 0) -> AsyncIterator[bytes]:
        """Yield all entries since a time, in order."""
        after = f"{since_milliseconds}-0"
        while found := await self._connection.ask("XRANGE", AUDIT, after, "+", "COUNT", PAGE):
            for _, fields in found:
                yield fields[b"e"]
            after = "(" + found[-1][0].decode()

    async def read_back(self, before: str | None = None) -> AsyncIterator[tuple[str, bytes]]:
        """Yield ids and entries before the one with an id, or all, the newest first."""
        if before == "0-0":  # nothing can be before it, and Redis refuses the question
            return
        end = "+" if before is None else f"({before}"
        while found := await self._connection.ask("XREVRANGE", AUDIT, end, "-", "COUNT", PAGE):
            for name, fields in found:
                yield name.decode(), fields[b"e"]
            end = "(" + found[-1][0].decode()
