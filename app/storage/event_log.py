"""The log of every tenant: a Redis stream whose entries have the ids 0-1, 0-2, 0-3 ..., so an id is a version.

It is a chain of hashes: an entry's chain is the SHA-1 of the chain before it and of its payload, and the first one
follows on the tenant's `born`, a random name of this life of the tenant. Whoever has applied a log up to a chain can
tell whether what comes next was really written behind it.
"""

import hashlib
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from redis.exceptions import ResponseError

from app.storage.client import scripts
from app.storage.client.commands import ask, ask_each
from app.storage.client.connection import Connection, store_error
from app.storage.client.transport import Argument
from app.storage.errors import StoreDamaged, StoreUnavailable, StoreUnusable
from app.storage.redis_keys import TENANTS, TenantKeys, keys_of

REMEMBER_DELETED_MILLISECONDS = 30 * 24 * 3600 * 1000


class Position(msgspec.Struct, frozen=True):
    """Where a log stands, or a state that was made from it."""

    born: str
    version: int
    chain: str


@dataclass(frozen=True, slots=True)
class Meta:
    """What the store says about a tenant: its position, None if it is not there, and its earlier lives."""

    position: Position | None
    was: str


class Entry(msgspec.Struct, frozen=True):
    """One entry of a log."""

    version: int
    payload: bytes
    chain: str


class Draft(msgspec.Struct, frozen=True):
    """An event to be appended. With a feedback_id it is appended once; the fingerprint tells a retry from a misuse."""

    payload: bytes
    feedback_id: str | None = None
    fingerprint: str = ""


class Group(msgspec.Struct, frozen=True):
    """Events of one tenant to be appended together by a worker that stands at `position`."""

    tenant: str
    position: Position
    drafts: Sequence[Draft]
    only_here: bool = False  # refuse if the log stands anywhere else


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing was appended: the tenant was deleted, is gone, is another one, or its log is behind the worker."""

    why: str


class Used(msgspec.Struct, frozen=True):
    """The feedback_id was used before, by the event that made this version."""

    version: int
    fingerprint: str


class Appended(msgspec.Struct, frozen=True):
    """Where the log stood before, and what became of each draft: a new entry, or the earlier use of its id."""

    before: Position
    results: list[Entry | Used]

    @property
    def after(self) -> Position:
        """Where the log stood then."""
        new = [each for each in self.results if isinstance(each, Entry)]
        return Position(self.before.born, new[-1].version, new[-1].chain) if new else self.before


Failed = StoreUnavailable | StoreUnusable


def next_chain(chain: str, payload: bytes) -> str:
    """The chain of an entry behind `chain`; the same as in append.lua."""
    return hashlib.sha1(chain.encode() + payload, usedforsecurity=False).hexdigest()


class Log:
    """All logs of a store."""

    def __init__(self, connection: Connection, feedback_id_ttl_seconds: int) -> None:
        self._connection = connection
        self._keep_milliseconds = 1000 * feedback_id_ttl_seconds

    async def create(self, tenant: str) -> Position:
        """Begin a log, or find it there."""
        await ask(self._connection, "ZADD", TENANTS, 0, tenant)
        call = scripts.Call(scripts.CREATE, [keys_of(tenant).meta], [secrets.token_hex(16)])
        born, version, chain = await scripts.run(self._connection, call)
        return Position(born.decode(), int(version), chain.decode())

    async def append(self, groups: Sequence[Group]) -> list[Appended | Refused | Failed]:
        """Append groups of several tenants in one journey; each is decided alone."""
        answers = await scripts.run_all(self._connection, [self._call(group) for group in groups])
        return [_outcome(group, answer) for group, answer in zip(groups, answers, strict=True)]

    def _call(self, group: Group) -> scripts.Call:
        keys, position = keys_of(group.tenant), group.position
        expected = position.chain if group.only_here else ""
        names = [keys.meta, keys.log, keys.changes]
        arguments: list[Argument] = [
            group.tenant, position.born, position.version, expected, self._keep_milliseconds
        ]  # fmt: skip
        for draft in group.drafts:
            names.append(self._record(keys, position.born, draft))
            arguments += (draft.fingerprint if draft.feedback_id is not None else "", draft.payload)
        return scripts.Call(scripts.APPEND, names, arguments)

    async def read(self, tenant: str, after: int, count: int) -> list[Entry]:
        """Up to `count` entries behind a version, in order."""
        found = await ask(self._connection, "XRANGE", keys_of(tenant).log, f"0-{after + 1}", "+", "COUNT", count)
        return [Entry(int(name[2:]), fields[b"p"], fields[b"c"].decode()) for name, fields in found]

    async def used(self, tenant: str, born: str, feedback_id: str) -> Used | None:
        """How a feedback_id was used before, if it was."""
        found = await ask(self._connection, "GET", keys_of(tenant).feedback(born, feedback_id))
        return _used(found.decode()) if found else None

    async def meta(self, tenant: str) -> Meta:
        """Where a log stands."""
        (found,) = await self.metas([tenant])
        if isinstance(found, StoreDamaged):
            raise found
        return found

    async def metas(self, tenants: Iterable[str]) -> list[Meta | StoreDamaged]:
        """Where several logs stand; an error in place of one that cannot be read."""
        return [meta_of(answer) for answer in await ask_each(self._connection, list(map(meta_command, tenants)))]

    async def delete(self, tenant: str) -> bool:
        """Delete a tenant with all that is kept of it; False if there was none."""
        keys = keys_of(tenant)
        names = [keys.meta, keys.changes, keys.pending, keys.pending_count, keys.log]
        names += [keys.headers, keys.chunks, keys.aside, keys.snapshot_lock]
        call = scripts.Call(scripts.DELETE, names, [tenant, REMEMBER_DELETED_MILLISECONDS])
        deleted = await scripts.run(self._connection, call)
        await ask(self._connection, "ZREM", TENANTS, tenant)
        return bool(deleted)

    async def seed(
        self,
        tenant: str,
        position: Position,
        header: bytes,
        *,
        instead_of: str,
        known: Sequence[tuple[Entry, Draft]] = (),
    ) -> bool:
        """Let a tenant go on from a written snapshot, with the events that led to it as far as they are known.

        False if another life than `instead_of` is there.
        """
        keys = keys_of(tenant)
        await ask(self._connection, "ZADD", TENANTS, 0, tenant)
        names = [keys.meta, keys.log, keys.changes, keys.headers]
        arguments: list[Argument] = [tenant, instead_of, position.born, position.version, position.chain, header]
        arguments.append(self._keep_milliseconds)
        for entry, draft in known:
            names.append(self._record(keys, position.born, draft))
            arguments += (entry.version, entry.chain, draft.fingerprint, entry.payload)
        return bool(await scripts.run(self._connection, scripts.Call(scripts.SEED, names, arguments)))

    @staticmethod
    def _record(keys: TenantKeys, born: str, draft: Draft) -> str:
        """Where the use of its feedback_id is noted; some other key if it has none."""
        return keys.meta if draft.feedback_id is None else keys.feedback(born, draft.feedback_id)

    async def tenants(self, after: str, limit: int, pattern: str = "*") -> list[str]:
        """Names of tenants in order, behind `after`; only those that begin as `pattern` does before its star."""
        begin = pattern.removesuffix("*")
        low = f"({after}" if after >= begin and after else f"[{begin}"
        high = "+" if pattern == "*" else f"[{begin}" + ("\x7f" if pattern.endswith("*") else "")
        found = await ask(self._connection, "ZRANGEBYLEX", TENANTS, low, high, "LIMIT", 0, limit)
        return [name.decode() for name in found]

    async def count(self) -> int:
        """How many tenants there are."""
        return int(await ask(self._connection, "ZCARD", TENANTS))


def _outcome(group: Group, answer: Any) -> Appended | Refused | Failed:  # noqa: ANN401 - as Redis answers
    if isinstance(answer, BaseException):
        return _failed(answer)
    kind, *facts = answer
    if kind != b"appended":
        return Refused(kind.decode())
    before = Position(group.position.born, int(facts[0]), facts[1].decode())
    return Appended(before, _results(before.version, group.drafts, facts[2:]))


def _failed(error: BaseException) -> Failed:
    """What went wrong with one group; others in the same journey are not concerned."""
    told = store_error(error)
    if told is None and isinstance(error, ResponseError):
        return StoreDamaged(f"the store cannot append to it ({error})")
    if told is None:
        raise error
    return told


def _results(version: int, drafts: Sequence[Draft], answers: Sequence[bytes]) -> list[Entry | Used]:
    results: list[Entry | Used] = []
    for draft, answer in zip(drafts, answers, strict=True):
        text = answer.decode()
        if " " in text:
            results.append(_used(text))
        else:
            version += 1
            results.append(Entry(version, draft.payload, text))
    return results


def _used(text: str) -> Used:
    version, fingerprint = text.split(" ", 1)
    return Used(int(version), fingerprint)


def meta_command(tenant: str) -> tuple[Argument, ...]:
    """What asks where a log stands."""
    return ("HMGET", keys_of(tenant).meta, "born", "version", "chain", "was")


def meta_of(answer: Sequence[bytes | None] | StoreDamaged) -> Meta | StoreDamaged:
    """What it was answered."""
    if isinstance(answer, StoreDamaged):
        return answer
    born, version, chain, was = answer
    earlier = was.decode() if was else ""
    if born is None or version is None or chain is None:
        return Meta(None, earlier)
    if not version.isdigit():
        return StoreDamaged(f"the version of its log is {version!r}")
    return Meta(Position(born.decode(), int(version), chain.decode()), earlier)


def changes_in(answer: Mapping[bytes, bytes]) -> tuple[str, int]:
    """What an entry of a change feed says: whose log has grown, and to which version."""
    return answer[b"t"].decode(), int(answer[b"v"])
