"""Deleted tenants that can be restored: their logs and snapshots, kept aside for some time."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

import msgspec

from app.storage.client import scripts
from app.storage.client.connection import Call, Connection
from app.storage.client.wire import Argument
from app.storage.metadata import Position
from app.storage.redis_keys import TENANTS, keys_of

READ_AT_ONCE = 500  # entries


class DeletedTenant(msgspec.Struct, frozen=True):
    """A deleted incarnation of a tenant."""

    incarnation: str
    version: int
    at_milliseconds: int
    until_milliseconds: int  # it can be restored


@dataclass(frozen=True, slots=True)
class DeletedTenants:
    """The deleted tenants of a store."""

    connection: Connection

    async def listed(self, tenant: str, now_milliseconds: int) -> list[DeletedTenant]:
        """Return the deleted incarnations of a name that can be restored, the newest first."""
        found = await self.connection.ask_all([("HGETALL", keys_of(tenant).deleted)])
        pairs = [each.decode() for each in found[0]]
        deleted = []
        for incarnation, facts in zip(pairs[::2], pairs[1::2], strict=True):
            version, _, at, until = facts.split(" ")
            deleted.append(DeletedTenant(incarnation, int(version), int(at), int(until)))
        usable = [each for each in deleted if each.until_milliseconds > now_milliseconds]
        return sorted(usable, key=lambda each: each.at_milliseconds, reverse=True)

    async def payloads(self, tenant: str, incarnation: str) -> AsyncIterator[tuple[int, list[bytes]]]:
        """Yield the payloads of its log in portions, each with the version of the first one."""
        key, after = f"{keys_of(tenant).deleted}:{incarnation}:log", "-"
        while entries := await self.connection.ask("XRANGE", key, after, "+", "COUNT", READ_AT_ONCE):
            yield int(entries[0][0][2:]), [fields[b"p"] for _, fields in entries]
            after = f"({entries[-1][0].decode()}"

    async def headers(self, tenant: str, incarnation: str) -> dict[int, bytes]:
        """Return the headers of its snapshots by version."""
        (found,) = await self.connection.ask_all([("HGETALL", f"{keys_of(tenant).deleted}:{incarnation}:headers")])
        return {int(version): header for version, header in zip(found[::2], found[1::2], strict=True)}

    async def restore(self, tenant: str, ended: str, position: Position, headers: Mapping[int, bytes]) -> str:
        """Put back the ended incarnation of a tenant, whose log is staged; return 'restored', 'exists' or 'gone'."""
        keys = keys_of(tenant)
        await self.connection.write("ZADD", TENANTS, 0, tenant)
        names = [keys.meta, keys.log, keys.changes, keys.headers, keys.chunks]
        names += [keys.staged_log(position.incarnation), keys.deleted]
        arguments: list[Argument] = [tenant, ended, position.incarnation, position.version, position.chain]
        for version, header in headers.items():
            arguments += (version, header)
        done: bytes = await self.connection.run(Call(scripts.RESTORE, names, arguments))
        return done.decode()
