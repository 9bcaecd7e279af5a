"""The keys as one worker knows them: merged from the store, its memory, and the local copy.

A store can lose what it has acknowledged: by a failover, FLUSHALL, eviction or an older backup. So what the store has
does not replace what a worker knows. The two are merged, and what the store lacks is put back:
- a revoked key stays revoked;
- of two records of one key, the newer revision counts, with the moderator that either of them names;
- a key that only the worker knows was lost.
"""

import asyncio
import logging
import secrets
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import msgspec

from app.auth.audit import Audit
from app.auth.key_file import KeyFile, KnownKeys
from app.auth.keys import Key, now_milliseconds
from app.storage.access.api_keys import ApiKeyStore, StoredKeys, Versions
from app.storage.errors import StoreUnavailable
from app.telemetry.counters import Telemetry

REVOKED_AT_MOST: Final = 10_000  # the newest are kept
ATTEMPTS: Final = 50  # one fails only if somebody else changes a key in the same millisecond
NAMED_AT_MOST: Final = 10
NOTES_KEPT: Final = 10
NOTHING: Final = KnownKeys()
Change = Mapping[str, Key | None]  # None: revoke the key
logger = logging.getLogger("sluice.access")
_decode = msgspec.json.Decoder(Key).decode


class Merge(NamedTuple):
    """What a worker and the store know together, and what of it the store lacks."""

    known: KnownKeys
    records: Mapping[str, bytes | None]  # to write to the store; None deletes a record
    revoked: Mapping[str, int | None]
    lost_keys: list[str]
    lost_revocations: list[str]

    def loss(self) -> str:
        """Describe what the store has lost."""
        parts = [("API key", self.lost_keys), ("revocation", self.lost_revocations)]
        return " and ".join(_counted(what, names) for what, names in parts if names)


class Keyring:
    """The keys of a service, as one worker knows them."""

    def __init__(
        self,
        store: ApiKeyStore | None = None,
        copy: KeyFile | None = None,
        audit: Audit | None = None,
        telemetry: Telemetry | None = None,
    ) -> None:
        self._store = store
        self._copy = copy
        self._audit = audit or Audit()
        self._telemetry = telemetry or Telemetry()
        self._known = NOTHING
        self._copied: KnownKeys | None = None  # what the local copy has
        self._versions: Versions | None = None  # None: read again
        self._lock = asyncio.Lock()
        self.is_read = False
        self.was_used = False  # there are keys, or there were some
        self.notes: list[str] = []
        self.troubles: dict[str, str] = {}  # what does not work now, by what it is about

    @property
    def keys(self) -> dict[str, Key]:
        """The keys that are not revoked, by their ids."""
        return self._known.keys

    async def read(self) -> None:
        """Read the keys again if they have changed, and put back what the store has lost."""
        assert self._store is not None
        async with self._lock:
            if self._versions is None or await self._store.versions() != self._versions:
                await self._synchronise()
            elif "copy" in self.troubles:
                await self._write_copy()

    async def change(self, decide: Callable[[Mapping[str, Key]], Change]) -> Change:
        """Change keys. `decide` is called with all keys, and again if somebody else changes a key meanwhile."""
        assert self._store is not None
        async with self._lock:
            for _ in range(ATTEMPTS):
                versions = await self._synchronise()
                change, now = decide(self.keys), now_milliseconds()
                revoked = newest(self._known.revoked | {name: now for name, key in change.items() if key is None})
                keys = {name: key for name, key in {**self.keys, **change}.items() if key is not None}
                known = KnownKeys(keys, revoked, self._known.identity or self._new_identity())
                self._versions = await self._store.write(
                    versions,
                    {name: _encode(key) if key else None for name, key in change.items()},
                    _difference(revoked, self._known.revoked),
                    known.identity,
                )
                if self._versions is not None:
                    await self._adopt(known)
                    return change
        raise StoreUnavailable("the keys cannot be changed: others change them at the same time")

    async def confirm(self) -> None:
        """Return when the keys as they are now are as durable as an acknowledgement promises."""
        assert self._store is not None
        await self._store.confirm()

    async def _synchronise(self) -> Versions:
        """Merge the store's keys with ours, use the result, and put back what the store lacks."""
        assert self._store is not None
        self._versions = None
        if not self.is_read and self._copy is not None:
            self._copied = await asyncio.to_thread(self._copy.read)
            self.was_used = self._copy.exists()
        for _ in range(ATTEMPTS):
            stored = await self._store.read()
            ours = self._known if self.is_read else copied_for(stored, self._copied)
            merged = merge(ours, stored, now_milliseconds())
            known = merged.known
            if known.identity is None and (known.keys or known.revoked):
                known = msgspec.structs.replace(known, identity=self._new_identity())
            await self._adopt(known)  # before it is written, which may fail
            self._versions = await self._put_back(stored, merged)
            if self._versions is not None:
                self.troubles.pop("store", None)
                return self._versions
        raise StoreUnavailable("the keys cannot be read: others change them all the time")

    def _new_identity(self) -> str | None:
        """Return an identity for a keyring without one; who keeps no copy leaves that to the services."""
        return secrets.token_hex(16) if self._copy else None

    async def _put_back(self, stored: StoredKeys, merged: Merge) -> Versions | None:
        """Write what the store lacks; None if somebody else has changed the keys since they were read."""
        assert self._store is not None
        identity, (keys, revoked) = self._known.identity, stored.versions
        if not (merged.records or merged.revoked) and identity == stored.identity and keys == revoked:
            return stored.versions
        loss = merged.loss()
        try:
            if loss:
                await self._audit.note("restore_keys", detail=f"the store had lost {loss}")
            written = await self._store.write(stored.versions, merged.records, merged.revoked, identity)
        except StoreUnavailable as error:
            if loss:
                self._report("store", f"the store has lost {loss}, which cannot be put back yet: {error}")
            raise
        if loss and written:
            self._telemetry.keys_restored += len(merged.lost_keys) + len(merged.lost_revocations)
            self._note(f"the store had lost {loss}; they were put back")
        return written

    async def _adopt(self, known: KnownKeys) -> None:
        self._known = known
        self.is_read = True
        self.was_used = self.was_used or bool(known.keys or known.revoked or known.identity)
        if known.identity is not None:
            await self._write_copy()

    async def _write_copy(self) -> None:
        if self._copy is None or self._copied == self._known:
            return
        try:
            await asyncio.to_thread(self._copy.write, self._known)
            self._copied = self._known
            self.troubles.pop("copy", None)
        except OSError as error:
            self._report("copy", f"the local copy of the keys, {self._copy.path}, cannot be written: {error}")

    def _note(self, text: str) -> None:
        """Report to the operator, in the log and in /readyz."""
        logger.error("%s", text)
        self.notes.append(text)
        del self.notes[:-NOTES_KEPT]

    def _report(self, what: str, text: str) -> None:
        if text != self.troubles.get(what):
            logger.error("%s", text)
        self.troubles[what] = text


def copied_for(stored: StoredKeys, copied: KnownKeys | None) -> KnownKeys:
    """Return what a local copy has, if it is a copy of this store's keyring, or the store has lost its own."""
    if copied is None or stored.identity in {None, copied.identity}:
        return copied or NOTHING
    logger.warning("the local copy of the keys belongs to another store; it is replaced")
    return NOTHING


def merge(ours: KnownKeys, stored: StoredKeys, now: int) -> Merge:
    """Merge what a worker knows with what the store has."""
    found = {name: key for name, record in stored.records.items() if (key := _key(name, record)) is not None}
    revoked, keys = {**ours.revoked, **stored.revoked}, {**found}
    if stored.changed_by_earlier_version:  # such a service deletes the keys that it revokes, and has no revisions
        revoked |= {name: now for name in ours.keys if name not in stored.records and name not in revoked}
    else:
        keys |= {name: newer(key, found.get(name)) for name, key in ours.keys.items()}
    keys = {name: key for name, key in keys.items() if name not in revoked}
    kept = newest(revoked)
    records: dict[str, bytes | None] = {name: _encode(key) for name, key in keys.items() if found.get(name) != key}
    lost_keys = list(records)
    records |= dict.fromkeys(stored.records.keys() & revoked.keys())
    return Merge(
        KnownKeys(keys, kept, stored.identity or ours.identity),
        records,
        _difference(kept, stored.revoked),
        lost_keys,
        [name for name in kept if name in ours.revoked and name not in stored.revoked],
    )


def newer(ours: Key, theirs: Key | None) -> Key:
    """Return the newer record of one key; of two of the same revision, the one that expires first.

    A key keeps its moderator for ever: a record without it was written by a service that knows no moderators.
    """
    if theirs is None:
        return ours
    latest = max(theirs, ours, key=lambda key: (key.revision, -(key.expires_at or 2**63)))
    named = ours if theirs.moderator is None else theirs
    if latest.moderator == named.moderator:
        return latest
    return msgspec.structs.replace(latest, moderator=named.moderator, speaks_for_others=named.speaks_for_others)


def newest(revoked: Mapping[str, int]) -> dict[str, int]:
    """Return the newest revocations, so that there is a limit on them."""
    latest = sorted(revoked.items(), key=lambda each: (each[1], each[0]))[-REVOKED_AT_MOST:]
    return dict(latest)


def _difference(revoked: Mapping[str, int], stored: Mapping[str, int]) -> dict[str, int | None]:
    """Return what must be written so that the store has exactly these revocations."""
    return {
        **dict.fromkeys(stored.keys() - revoked.keys()),
        **{name: at for name, at in revoked.items() if name not in stored},
    }


def _key(name: str, record: bytes) -> Key | None:
    try:
        return _decode(record)
    except msgspec.MsgspecError as error:
        logger.error("key %s cannot be read and is refused: %s", name, error)  # noqa: TRY400 - the message has it all
        return None


def _encode(key: Key) -> bytes:
    return msgspec.json.encode(key)


def _counted(what: str, names: list[str]) -> str:
    more = len(names) - NAMED_AT_MOST
    shown = ", ".join(names[:NAMED_AT_MOST]) + (f" and {more:,} more" if more > 0 else "")
    return f"{len(names):,} {what}{'s' if len(names) > 1 else ''} ({shown})"
