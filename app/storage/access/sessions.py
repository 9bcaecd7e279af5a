"""Sessions of the console in Redis: the key id of each, under a hash of its secret. They end by themselves."""

import hashlib

from app.storage.client.connection import Connection
from app.storage.redis_keys import session_of


class SessionStore:
    """The sessions of all services of a store."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def add(self, secret: str, key_id: str, seconds: int) -> None:
        """Store a new session."""
        await self._connection.write("SET", session_of(_digest(secret)), key_id, "EX", seconds)

    async def key_id(self, secret: str) -> str | None:
        """Return the id of the key that a session was begun with; None if there is no such session."""
        found: bytes | None = await self._connection.ask("GET", session_of(_digest(secret)))
        return None if found is None else found.decode()

    async def remove(self, secret: str) -> None:
        """End a session."""
        await self._connection.write("DEL", session_of(_digest(secret)))


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
