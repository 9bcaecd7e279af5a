"""API keys in Redis: one record each, the ids of revoked keys, and a version that tells workers when to read again.

The version is random and new with every change: a counter would have the same value twice after a failover that loses
a change. It is in both hashes, so that the loss of either is noticed.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from app.storage.client import scripts
from app.storage.client.connection import Call, Connection
from app.storage.client.wire import Argument
from app.storage.redis_keys import KEYRING, REVOKED

VERSION: Final = b"version"
IDENTITY: Final = b"identity"
COUNTED_AT_MOST: Final = 1000  # how far a service of an earlier version, which counts, can have gone
Versions = tuple[bytes, bytes]  # of keys and of revocations; empty where there is none


@dataclass(frozen=True, slots=True)
class StoredKeys:
    """What the store has."""

    versions: Versions
    identity: str | None  # of this keyring, as opposed to the keyring of another store
    records: Mapping[str, bytes]
    revoked: Mapping[str, int]  # when, in milliseconds since 1970

    @property
    def changed_by_earlier_version(self) -> bool:
        """Whether the last change was made by a service of an earlier version.

        It increments the version of the keys, and knows no revocations: it deletes the record of a revoked key.
        """
        keys, revoked = self.versions
        return keys.isdigit() and revoked.isdigit() and 0 < int(keys) - int(revoked) <= COUNTED_AT_MOST


class ApiKeyStore:
    """Records by key id; app.auth knows what is in a record."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def versions(self) -> Versions:
        """Return values that differ after every change and after every loss."""
        keys, revoked = await self._connection.ask_all([("HGET", KEYRING, VERSION), ("HGET", REVOKED, VERSION)])
        return keys or b"", revoked or b""

    async def read(self) -> StoredKeys:
        """Return everything. If it changes in between, the versions are those of before, and writing is refused."""
        answers = await self._connection.ask_all([("HGETALL", KEYRING), ("HGETALL", REVOKED)])
        keys, revoked = map(_fields, answers)
        versions = keys.pop(VERSION, b""), revoked.pop(VERSION, b"")
        identity = revoked.pop(IDENTITY, None)
        return StoredKeys(
            versions,
            identity.decode() if identity else None,
            {name.decode(): record for name, record in keys.items()},
            {name.decode(): int(at) if at.isdigit() else 0 for name, at in revoked.items()},
        )

    async def write(
        self,
        expected: Versions,
        records: Mapping[str, bytes | None],
        revoked: Mapping[str, int | None],
        identity: str | None = None,
    ) -> Versions | None:
        """Write some records and revocations together; None deletes one. Return the new versions.

        Return None, and write nothing, if the versions are not the expected ones.
        """
        version = str(secrets.randbits(62) + 1)  # room for services that count
        arguments: list[Argument] = [*expected, version]
        for name, record in records.items():
            arguments += (1, name, record or b"")
        for name, at in revoked.items():
            arguments += (2, name, b"" if at is None else str(at))
        if identity is not None:
            arguments += (2, IDENTITY, identity)
        done = await self._connection.run(Call(scripts.KEYRING, [KEYRING, REVOKED], arguments))
        return (version.encode(), version.encode()) if done else None

    async def confirm(self) -> None:
        """Return when the keys as they are now are as durable as an acknowledgement promises."""
        await self._connection.confirm(KEYRING)


def _fields(answer: list[Any]) -> dict[bytes, bytes]:
    return dict(zip(answer[::2], answer[1::2], strict=True))
