"""The keys of the service in Redis: a record for each, and a version that says when to read them anew."""

from collections.abc import Mapping

from app.storage.client import scripts
from app.storage.client.commands import ask
from app.storage.client.connection import Connection
from app.storage.client.transport import Argument
from app.storage.redis_keys import KEYRING

VERSION = b"version"


class Keyring:
    """Records by id; what they mean is known to others."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def version(self) -> int:
        """Grows with every change."""
        return int(await ask(self._connection, "HGET", KEYRING, VERSION) or 0)

    async def read(self) -> tuple[int, dict[str, bytes]]:
        """The version, and all records."""
        found = await ask(self._connection, "HGETALL", KEYRING)
        pairs = dict(zip(found[::2], found[1::2], strict=True)) if isinstance(found, list) else dict(found)
        version = int(pairs.pop(VERSION, 0))
        return version, {name.decode(): record for name, record in pairs.items()}

    async def change(self, records: Mapping[str, bytes | None]) -> None:
        """Write some records together; None takes one away."""
        arguments: list[Argument] = []
        for name, record in records.items():
            arguments += (name, record or b"")
        await scripts.run(self._connection, scripts.Call(scripts.KEYRING, [KEYRING], arguments))
