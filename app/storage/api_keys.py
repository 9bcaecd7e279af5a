"""API keys in Redis: one record each, and a version that tells workers when to read them again."""

from collections.abc import Mapping

from app.storage.client import scripts
from app.storage.client.connection import Argument, Call, Connection
from app.storage.redis_keys import KEYRING

VERSION = b"version"


class ApiKeyStore:
    """Records by key id; app.auth knows what is in a record."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def version(self) -> int:
        """Return a number that grows with every change."""
        return int(await self._connection.ask("HGET", KEYRING, VERSION) or 0)

    async def read(self) -> tuple[int, dict[str, bytes]]:
        """Return the version and all records."""
        found = await self._connection.ask("HGETALL", KEYRING)
        pairs = dict(zip(found[::2], found[1::2], strict=True)) if isinstance(found, list) else dict(found)
        version = int(pairs.pop(VERSION, 0))
        return version, {name.decode(): record for name, record in pairs.items()}

    async def change(self, records: Mapping[str, bytes | None]) -> None:
        """Write some records together; None deletes one."""
        arguments: list[Argument] = []
        for name, record in records.items():
            arguments += (name, record or b"")
        await self._connection.run(Call(scripts.KEYRING, [KEYRING], arguments))
