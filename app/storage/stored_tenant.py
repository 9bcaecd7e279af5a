"""Everything that the store has of a tenant, as it is there: for a check, for a copy, and for its replacement."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from app.storage.client import scripts
from app.storage.client.connection import Call, Connection
from app.storage.client.wire import Argument, Command
from app.storage.event_codec import FeedbackRecord, decode_record, fingerprint_of
from app.storage.event_log import Entry, EventLog, next_chain
from app.storage.metadata import Position
from app.storage.redis_keys import TenantKeys, keys_of

AT_ONCE = 500  # entries or chunks in one round trip
ATTEMPTS = 5
STAGED_MILLISECONDS = 24 * 3600 * 1000  # a log written aside by a command that died is dropped after a day
TYPES = {"meta": "hash", "log": "stream", "headers": "hash", "chunks": "hash", "aside": "hash"}

META = (b"born", b"version", b"chain", b"was")

Fields = dict[bytes, bytes]
LogItem = tuple[bytes, Fields]  # the id of an entry, and its fields


class StoredTenant(msgspec.Struct, frozen=True, kw_only=True):
    """The stored values of a tenant; those of the wrong type are in `foreign`, as DUMP returns them."""

    tenant: str
    meta: Fields
    log: list[LogItem]
    headers: Fields
    chunks: dict[bytes, bytes]
    aside: dict[bytes, bytes]
    foreign: dict[str, bytes] = {}

    @property
    def is_empty(self) -> bool:
        """Whether the store has no such tenant; the memory of a deleted one does not count."""
        return not (self.meta.get(b"born") or self.log or self.headers or self.chunks or self.foreign)


class Grown(msgspec.Struct, frozen=True):
    """The metadata of a log that has grown, and the payloads of its new entries."""

    meta: dict[bytes, bytes]
    payloads: list[bytes]


class TenantStore:
    """Reads whole tenants, and replaces them."""

    def __init__(self, connection: Connection, log: EventLog, feedback_id_ttl_seconds: int) -> None:
        self._connection = connection
        self._log = log
        self._keep_milliseconds = 1000 * feedback_id_ttl_seconds

    async def read(self, tenant: str) -> StoredTenant:
        """Read everything of a tenant; again if a snapshot was taken meanwhile, because that trims the log."""
        keys = keys_of(tenant)
        stored = await self._read(tenant, keys)
        for _ in range(ATTEMPTS):
            if "headers" in stored.foreign or set(await self._ask("HKEYS", keys.headers)) == stored.headers.keys():
                break
            stored = await self._read(tenant, keys)
        return stored

    async def _read(self, tenant: str, keys: TenantKeys) -> StoredTenant:
        foreign: dict[str, bytes] = {}
        for kind, expected in TYPES.items():
            found = (await self._ask("TYPE", getattr(keys, kind))).decode()
            if found not in {expected, "none"}:
                foreign[kind] = await self._ask("DUMP", getattr(keys, kind))
        # The snapshots first: a newer one than the metadata would look like a loss.
        hashes = {
            kind: {} if kind in foreign else await self._hash(getattr(keys, kind))
            for kind in ("headers", "chunks", "aside")
        }
        entries = [] if "log" in foreign else await self._entries(keys.log)
        meta = {} if "meta" in foreign else await self._meta_at_end(keys, entries, foreign)
        return StoredTenant(tenant=tenant, meta=meta, log=entries, foreign=foreign, **hashes)

    async def _meta_at_end(self, keys: TenantKeys, entries: list[LogItem], foreign: Mapping[str, bytes]) -> Fields:
        """Read the metadata, and the entries that were appended meanwhile, so that both are of the same moment."""
        read_meta: Command = ("HMGET", keys.meta, *META)
        while True:
            after = b"(" + entries[-1][0] if entries else b"-"
            read_log: Command = ("XRANGE", keys.log, after, "+") if "log" not in foreign else ("EXISTS", keys.log)
            before, new, meta = await self._connection.ask_all([read_meta, read_log, read_meta])
            if "log" not in foreign:
                entries += map(_log_item, new)
            if before == meta:
                return {name: value for name, value in zip(META, meta, strict=True) if value is not None}

    async def _entries(self, key: str) -> list[LogItem]:
        found, after = list[LogItem](), b"-"
        while some := await self._ask("XRANGE", key, after, "+", "COUNT", AT_ONCE):
            found += map(_log_item, some)
            after = b"(" + some[-1][0]
        return found

    async def _hash(self, key: str) -> Fields:
        names, found = await self._ask("HKEYS", key), {}
        for start in range(0, len(names), AT_ONCE):
            some = names[start : start + AT_ONCE]
            values = await self._ask("HMGET", key, *some)
            found.update({name: value for name, value in zip(some, values, strict=True) if value is not None})
        return found

    async def _ask(self, *command: str | bytes | int) -> Any:  # noqa: ANN401 - depends on the command
        (answer,) = await self._connection.ask_all([command])  # raw: redis-py's parsers fail on damaged answers
        return answer

    async def confirmation(self, tenant: str, incarnation: str, entry: Entry) -> bool | None:
        """Whether the record of its feedback_id, which has a hash of label and input, agrees; None if there is none."""
        try:
            record = decode_record(entry.payload)
            if not isinstance(record, FeedbackRecord) or record.feedback_id is None:
                return None
            used = await self._log.duplicate(tenant, incarnation, record.feedback_id)
            if used is None or used.version != entry.version:  # an id can be used again after a while
                return None
            return used.fingerprint == fingerprint_of(record)
        except (msgspec.MsgspecError, ValueError, ZeroDivisionError):
            return None

    async def remove(self, tenant: str, foreign: Mapping[str, bytes], bad_chunks: Sequence[str]) -> None:
        """Remove what would be in the way of a snapshot: values of the wrong type, and chunks that are damaged."""
        keys = keys_of(tenant)
        for kind in foreign.keys() & {"chunks", "aside"}:  # `replace` handles the others
            await self._ask("DEL", getattr(keys, kind))
        if bad_chunks:
            await self._ask("HDEL", keys.chunks, *bad_chunks)

    async def stage(self, tenant: str, incarnation: str, entries: Sequence[Entry]) -> None:
        """Write entries aside, and the records of their feedback_ids, which only the new incarnation reads."""
        keys = keys_of(tenant)
        log = keys.staged_log(incarnation)
        for start in range(0, len(entries), AT_ONCE):
            some = entries[start : start + AT_ONCE]
            commands: list[Command] = [
                ("XADD", log, f"0-{each.version}", "p", each.payload, "c", each.chain) for each in some
            ]
            commands.append(("PEXPIRE", log, STAGED_MILLISECONDS))
            await self._connection.ask_all(commands + self._records(keys, incarnation, some))

    def _records(self, keys: TenantKeys, incarnation: str, entries: Sequence[Entry]) -> list[Command]:
        commands: list[Command] = []
        for entry in entries:
            record = decode_record(entry.payload)
            if isinstance(record, FeedbackRecord) and record.feedback_id is not None:
                key = keys.feedback(incarnation, record.feedback_id)
                used = f"{entry.version} {fingerprint_of(record)}"  # as append.lua writes it
                commands.append(("SET", key, used, "PX", self._keep_milliseconds))
        return commands

    async def replace(
        self,
        tenant: str,
        position: Position,
        headers: Mapping[int, bytes],
        *,
        only_at: Mapping[bytes, bytes],
        ended: Sequence[str],
    ) -> bool | Grown:
        """Put the log written aside in the place of the stored one, with its snapshots by version.

        If the metadata is not `only_at`, change nothing: return what was appended meanwhile, or False if more changed.
        """
        keys = keys_of(tenant)
        names = [keys.meta, keys.log, keys.changes, keys.headers, keys.staged_log(position.incarnation)]
        expected = [only_at.get(name, b"") for name in (b"born", b"version", b"chain")]
        new: list[Argument] = [position.incarnation, position.version, position.chain]
        new += [each for header in headers.items() for each in header]
        call = Call(scripts.REPLACE, names, [tenant, *expected, " ".join(ended), *new])
        kind, *facts = await self._connection.run(call)
        if kind != b"grown":
            return bool(kind == b"replaced")
        version, chain, found = facts
        payloads = _payloads_behind(only_at, version, chain, found)
        return (
            False if payloads is None else Grown({b"born": expected[0], b"version": version, b"chain": chain}, payloads)
        )


def chained(payloads: Sequence[bytes], position: Position) -> list[Entry]:
    """Return payloads as the entries behind a position."""
    entries, chain = [], position.chain
    for version, payload in enumerate(payloads, position.version + 1):
        chain = next_chain(chain, payload)
        entries.append(Entry(version, payload, chain))
    return entries


def _log_item(item: tuple[bytes, list[bytes]]) -> LogItem:
    name, pairs = item
    return name, dict(zip(pairs[::2], pairs[1::2], strict=True))


def _payloads_behind(
    before: Mapping[bytes, bytes], version: bytes, chain: bytes, found: Sequence[tuple[bytes, list[bytes]]]
) -> list[bytes] | None:
    """Return the payloads of entries that lead from one position to the other; None if they do not."""
    at, known = int(before[b"version"]), before.get(b"chain", b"").decode(errors="replace")
    for name, pairs in found:
        at += 1
        if name != b"0-%d" % at or pairs[::2] != [b"p", b"c"] or next_chain(known, pairs[1]).encode() != pairs[3]:
            return None
        known = pairs[3].decode()
    return [pairs[1] for _, pairs in found] if (b"%d" % at, known.encode()) == (version, chain) else None
