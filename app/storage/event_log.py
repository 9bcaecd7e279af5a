"""The log of every tenant: a Redis stream whose entries have the ids 0-1, 0-2, 0-3 ..., so an id is a version.

The log is a hash chain: the chain of an entry is the SHA-1 of the chain before it and of its payload. The first entry
follows the incarnation, a random name that a tenant gets when it is created or imported. So a worker that has applied
a log up to some chain can check that the next entry was really written behind it.
"""

import hashlib
import secrets
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from app.learning.events import Outcome
from app.storage.client import scripts
from app.storage.client.connection import Call, Connection
from app.storage.client.failures import failed_append
from app.storage.client.wire import Argument
from app.storage.errors import StoreDamaged, StoreUnavailable, StoreUnusable
from app.storage.metadata import Meta, Position, meta_command, parse_meta
from app.storage.outcomes import decode_outcome
from app.storage.redis_keys import TENANTS, TenantKeys, keys_of

INCARNATION_LENGTH = 32
UNREACHABLE, CHANGED = "unreachable", "changed"
ANY = "any"  # earlier label of a prediction
Failed = StoreUnavailable | StoreUnusable
REMEMBER_DELETED_MILLISECONDS = 30 * 24 * 3600 * 1000


class Entry(msgspec.Struct, frozen=True):
    """One entry of a log."""

    version: int
    payload: bytes
    chain: str


class Draft(msgspec.Struct, frozen=True):
    """An event to append: once per feedback_id. The fingerprint tells a retry from another use of the same id."""

    payload: bytes
    feedback_id: str | None = None
    fingerprint: str = ""
    retracts: int = 0  # the first version that it changes, if it takes back labels
    prediction_id: str | None = None  # that is labelled: once, unless `replaces` is its label, or ANY
    replaces: int | str = ""
    seen: int | None = None  # of a retraction: the version up to which it knows the log; a later request refuses it
    is_asked: bool = False  # a request takes labels back, and not a second label
    settled: Sequence[str] = ()  # predictions that it relies on to have no label behind `seen`


class Group(msgspec.Struct, frozen=True):
    """Events of one tenant to append together, by a worker at `position`."""

    tenant: str
    position: Position
    drafts: Sequence[Draft]
    only_here: bool = False  # refuse if the log is at any other position


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing was appended: the tenant is deleted, missing or another incarnation, or its log is behind the worker.

    Or it is UNREACHABLE: no state is left from before the labels that are to be taken back. Or CHANGED: a prediction
    has another label than the one that is to be replaced, or the feedback_id was used, or what a retraction relies on.
    """

    why: str


class Duplicate(msgspec.Struct, frozen=True):
    """The feedback_id was used before, by the event of this version."""

    version: int
    fingerprint: str
    outcome: Outcome | None = None  # if it is kept


class Labelled(msgspec.Struct, frozen=True):
    """The prediction has a label already, the event of this version. Nothing was appended."""

    version: int


class Appended(msgspec.Struct, frozen=True):
    """The position before the append, and for each draft its new entry, or why there is none."""

    before: Position
    results: list[Entry | Duplicate | Labelled]

    @property
    def after(self) -> Position:
        """The position after the append."""
        new = [each for each in self.results if isinstance(each, Entry)]
        return Position(self.before.incarnation, new[-1].version, new[-1].chain) if new else self.before


def next_chain(chain: str, payload: bytes) -> str:
    """Return the chain of an entry behind `chain`; append.lua computes the same."""
    return hashlib.sha1(chain.encode() + payload, usedforsecurity=False).hexdigest()


def new_incarnation() -> str:
    """Return a name that was never used."""
    return secrets.token_hex(INCARNATION_LENGTH // 2)


class EventLog:
    """The logs of all tenants of a store."""

    def __init__(self, connection: Connection, feedback_id_ttl_seconds: int) -> None:
        self._connection = connection
        self._keep_milliseconds = 1000 * feedback_id_ttl_seconds

    async def create(self, tenant: str, first: bytes = b"", *, ended: str = "") -> Position:
        """Create a log with its first event unless it exists; `ended` are incarnations that the store may have lost."""
        keys = keys_of(tenant)
        await self._connection.write("ZADD", TENANTS, 0, tenant)
        call = Call(scripts.CREATE, [keys.meta, keys.log], [new_incarnation(), ended, first])
        incarnation, version, chain = await self._connection.run(call)
        return Position(incarnation.decode(), int(version), chain.decode())

    async def append(self, groups: Sequence[Group]) -> list[Appended | Refused | Failed]:
        """Append groups of several tenants in one round trip; each group succeeds or fails alone."""
        answers = await self._connection.run_all([self._append_call(group) for group in groups])
        return [_append_result(group, answer) for group, answer in zip(groups, answers, strict=True)]

    def _append_call(self, group: Group) -> Call:
        keys, position = keys_of(group.tenant), group.position
        expected = position.chain if group.only_here else ""
        names = [keys.meta, keys.log, keys.changes]
        arguments: list[Argument] = [group.tenant, position.incarnation, position.version, expected]
        arguments.append(self._keep_milliseconds)
        for draft in group.drafts:
            key, mark = _beside(keys, position.incarnation, draft)
            names.append(key)
            arguments += (mark, draft.payload, _labels(draft))
        return Call(scripts.APPEND, names, arguments)

    async def read(self, tenant: str, after: int, count: int) -> list[Entry]:
        """Return up to `count` entries behind a version, in order."""
        return await self._read("XRANGE", tenant, f"0-{after + 1}", "+", count)

    async def read_back(self, tenant: str, before: int | None, count: int) -> list[Entry]:
        """Return up to `count` entries before a version, or the last ones, the newest first."""
        end = "+" if before is None else f"0-{before - 1}"
        return await self._read("XREVRANGE", tenant, end, "-", count)

    async def _read(self, command: str, tenant: str, first: str, last: str, count: int) -> list[Entry]:
        found = await self._connection.ask(command, keys_of(tenant).log, first, last, "COUNT", count)
        try:
            return [Entry(int(name[2:]), each[b"p"], each[b"c"].decode("utf-8", "replace")) for name, each in found]
        except KeyError:
            raise StoreDamaged("an entry of its log lacks its payload or its chain") from None

    async def chains(self, places: Sequence[tuple[str, int]]) -> list[str | StoreDamaged | None]:
        """Return the chain of one version of each of several logs; None where the log is trimmed or too short."""
        commands = [("XRANGE", keys_of(name).log, f"0-{version}", f"0-{version}") for name, version in places]
        answers = await self._connection.ask_each(commands)
        return [  # the fields of an entry are p, payload, c, chain
            each if isinstance(each, StoreDamaged) else each[0][1][3].decode() if each else None for each in answers
        ]

    async def duplicate(self, tenant: str, incarnation: str, feedback_id: str) -> Duplicate | None:
        """Return the earlier use of a feedback_id, if there is one."""
        found = await self._connection.ask("GET", keys_of(tenant).feedback(incarnation, feedback_id))
        return _duplicate(found) if found else None

    async def meta(self, tenant: str) -> Meta:
        """Return the metadata of a tenant."""
        (found,) = await self.metas([tenant])
        if isinstance(found, StoreDamaged):
            raise found
        return found

    async def metas(self, tenants: Iterable[str]) -> list[Meta | StoreDamaged]:
        """Return the metadata of several tenants, with an error for one that cannot be read."""
        return [parse_meta(answer) for answer in await self._connection.ask_each(list(map(meta_command, tenants)))]

    async def delete(self, tenant: str, keep_seconds: int = 0) -> str | None:
        """Delete a tenant; return its incarnation, None if there was none.

        For so many seconds it can be restored; with 0 also earlier ones of its name cannot. '' if only these existed.
        """
        deleted = await self._delete(tenant, "", keep_seconds)
        await self._connection.write("ZREM", TENANTS, tenant)
        return deleted

    async def delete_again(self, tenant: str, incarnation: str) -> bool:
        """Delete a tenant if it is this incarnation; False if it is not."""
        if await self._delete(tenant, incarnation, 0) is None:
            return False
        await self._connection.ask("ZREM", TENANTS, tenant)
        if (await self.meta(tenant)).position is not None:  # another worker has put back a newer one meanwhile
            await self._connection.ask("ZADD", TENANTS, 0, tenant)
        return True

    async def _delete(self, tenant: str, only: str, keep_seconds: int) -> str | None:
        keys, now = keys_of(tenant), time.time_ns() // 1_000_000
        names = [keys.meta, keys.changes, keys.pending, keys.log, keys.headers, keys.chunks, keys.deleted]
        names += [keys.pending_count, keys.pending_demand, keys.aside, keys.snapshot_lock, *keys.second]
        call = Call(scripts.DELETE, names, [tenant, REMEMBER_DELETED_MILLISECONDS, only, 1000 * keep_seconds, now])
        deleted: bytes | None = await self._connection.run(call)
        return deleted.decode() if deleted is not None else None

    async def confirm(self, tenant: str) -> None:
        """Return when the log as it is now is as durable as an acknowledgement promises."""
        await self._connection.confirm(keys_of(tenant).meta)

    async def seed(  # noqa: PLR0913 - what a log starts with
        self,
        tenant: str,
        position: Position,
        header: bytes,
        *,
        instead_of: str,
        ended: str = "",
        known: Sequence[tuple[Entry, Draft]] = (),
    ) -> bool:
        """Start the log of a tenant from a written snapshot, with the known events that led to it.

        `ended` are earlier incarnations that the store may have lost, separated by spaces. False if the stored
        incarnation is not `instead_of`.
        """
        keys = keys_of(tenant)
        await self._connection.write("ZADD", TENANTS, 0, tenant)
        names = [keys.meta, keys.log, keys.changes, keys.headers]
        arguments: list[Argument] = [tenant, instead_of, position.incarnation, position.version, position.chain, header]
        arguments += (self._keep_milliseconds, ended)
        for entry, draft in known:
            names.append(_beside(keys, position.incarnation, draft)[0])
            arguments += (entry.version, entry.chain, draft.fingerprint, entry.payload)
        return bool(await self._connection.run(Call(scripts.SEED, names, arguments)))

    async def tenants(self, after: str, limit: int, pattern: str = "*") -> list[str]:
        """Return names of tenants behind `after`, in order, that match a pattern (`acme`, `acme-*` or `*`)."""
        begin = pattern.removesuffix("*")
        low = f"({after}" if after >= begin and after else f"[{begin}"
        high = "+" if pattern == "*" else f"[{begin}" + ("\x7f" if pattern.endswith("*") else "")
        found = await self._connection.ask("ZRANGEBYLEX", TENANTS, low, high, "LIMIT", 0, limit)
        return [name.decode() for name in found]

    async def count(self) -> int:
        """Return the number of tenants."""
        return int(await self._connection.ask("ZCARD", TENANTS))


def _beside(keys: TenantKeys, incarnation: str, draft: Draft) -> tuple[str, str]:
    """Return the key that a draft needs beside the log, and what the script must know of it."""
    if draft.feedback_id is not None:
        return keys.feedback(incarnation, draft.feedback_id), draft.fingerprint
    if not draft.retracts:
        return keys.meta, ""  # the key is ignored
    seen = "-" if draft.seen is None else draft.seen
    return keys.headers, f"retracts {draft.retracts} {seen}{' asked' if draft.is_asked else ''}"


def _labels(draft: Draft) -> str:
    """Return the block of the prediction that a draft labels, its place there, and the version to replace.

    Of an event that takes back labels, the blocks and places of the predictions that it relies on.
    """
    if draft.prediction_id is None:
        return " ".join(map(_place, draft.settled)) if draft.settled else ""
    return f"{_place(draft.prediction_id)} {draft.replaces}"


def _place(prediction_id: str) -> str:
    block, *place = prediction_id.rsplit("-", 2)
    return f"{block} {'-'.join(place) or '-'}"


def _append_result(group: Group, answer: Any) -> Appended | Refused | Failed:  # noqa: ANN401 - as Redis answers
    if isinstance(answer, BaseException):
        return failed_append(answer)  # the other groups of the round trip are not affected
    kind, *facts = answer
    if kind != b"appended":
        return Refused(kind.decode())
    version = int(facts[0])
    before = Position(group.position.incarnation, version, facts[1].decode("utf-8", "replace"))
    results: list[Entry | Duplicate | Labelled] = []
    for draft, result in zip(group.drafts, facts[2:], strict=True):
        if isinstance(result, list):
            results.append(_duplicate(*result))
        elif isinstance(result, int):
            results.append(Labelled(result))
        else:
            version += 1
            results.append(Entry(version, draft.payload, result.decode()))
    return Appended(before, results)


def _duplicate(record: bytes, outcome: bytes | None = None) -> Duplicate:
    version, fingerprint = record.decode().split(" ", 1)
    return Duplicate(int(version), fingerprint, decode_outcome(int(version), outcome))
