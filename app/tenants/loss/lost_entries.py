"""Entries that a log has lost, as after a failover, and that this worker still remembers: they are appended again."""

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from app.storage.event_codec import FeedbackRecord, RetractionRecord, decode_record, fingerprint_of
from app.storage.event_log import ANY, UNREACHABLE, Appended, Draft, Entry, EventLog, Group, Refused
from app.storage.metadata import Position
from app.tenants.cache import RecentEntries
from app.tenants.recovery import follows
from app.tenants.tenant import Tenant

logger = logging.getLogger("sluice.tenants")

APPENDED_AT_ONCE = 2048  # the store does nothing else during this call
READ_AT_MOST = 100_000


@dataclass(frozen=True, slots=True)
class Lost:
    """The remembered entries that a log lacks. If they are not all that it lacks, it is a `part`."""

    entries: Sequence[Entry] = ()
    is_part: bool = False


@dataclass(frozen=True, slots=True)
class LostEntries:
    """Finds the remembered entries that a log lacks, and appends them."""

    log: EventLog
    recent: RecentEntries

    async def find(self, name: str, end: Position, stored: Position) -> Lost:
        """Return the entries up to `end` that the log at `stored` lacks."""
        ours = self.recent.leading_to(name, end)
        if not ours:
            return Lost(is_part=True)
        if stored.incarnation != end.incarnation:
            created = await self._find_since_creation(name, stored, ours)
            return Lost(is_part=True) if created is None else Lost(created)
        after = max(ours[0].version - 2, 0)  # with the entry before ours, to check that ours follow it
        found = await self.log.read(name, after, stored.version - after) if stored.version > after else []
        missing = missing_entries(found, stored, ours)
        return Lost(await self._find_unplaced(name, stored, ours), is_part=True) if missing is None else Lost(missing)

    async def _find_unplaced(self, name: str, stored: Position, ours: Sequence[Entry]) -> list[Entry]:
        """Return those of our entries that the log lacks, although we do not know where the two histories fork.

        A worker that has loaded a snapshot knows no entries before it. The log may have lost some of those as well, but
        that is no reason to lose ours. A log that begins behind ours may have had them: then nothing is appended.
        """
        log = await self.log.read(name, 0, READ_AT_MOST)
        is_whole = bool(log) and log[-1].version >= stored.version and log[0].version < ours[0].version
        return absent_entries(log, ours) if is_whole else []

    async def _find_since_creation(self, name: str, stored: Position, ours: Sequence[Entry]) -> list[Entry] | None:
        """Return those of our entries that the log of another incarnation lacks; None if one was not created empty.

        The store has lost the whole tenant, and another worker has created it again before it was put back.
        """
        log = await self.log.read(name, 0, READ_AT_MOST) if ours[0].version == 1 else []
        is_whole = bool(log) and log[-1].version >= stored.version
        if not is_whole or not follows(Position(stored.incarnation, 0, stored.incarnation), log[0]):
            return None
        return absent_entries(log, ours)

    async def append(self, name: str, stored: Position, lost: Sequence[Entry]) -> tuple[Position, int] | None:
        """Append entries; return the position behind them, and how many were added. None if the log has moved on.

        A label that its client has sent again meanwhile is not added: its feedback_id is known.
        """
        added = 0
        for start in range(0, len(lost), APPENDED_AT_ONCE):
            drafts = [draft_of(entry) for entry in lost[start : start + APPENDED_AT_ONCE]]
            (answer,) = await self.log.append([Group(name, stored, drafts, only_here=True)])
            if isinstance(answer, Refused) and answer.why == UNREACHABLE:
                logger.error("tenant %s: a retraction is lost with the store's data; retract the labels again", name)
                drafts = [draft for draft in drafts if not draft.retracts]
                (answer,) = await self.log.append([Group(name, stored, drafts, only_here=True)])
            if isinstance(answer, Exception):
                raise answer
            if not isinstance(answer, Appended):
                return None
            added += sum(isinstance(each, Entry) for each in answer.results)
            stored = answer.after
        return stored, added

    async def remember_newest(self, name: str, position: Position) -> None:
        """Remember the entries of the log that led to a position, instead of those of another history."""
        known = await self.log.read(name, max(position.version - APPENDED_AT_ONCE, 0), APPENDED_AT_ONCE)
        self.recent.forget(name)
        for entry in known:
            if entry.version <= position.version:
                self.recent.remember(name, position.incarnation, entry)


async def remember_loaded(log: EventLog, recent: RecentEntries, tenant: Tenant, entries: Sequence[Entry]) -> None:
    """Remember the entries that were read when a tenant was loaded.

    If its snapshot is newer than what is remembered, the entries between them are read, too: without them, all that was
    remembered would be forgotten.
    """
    end = recent.end_of(tenant.name)
    first = entries[0].version if entries else tenant.state.version + 1
    if end is not None and end.incarnation == tenant.incarnation:
        count = first - 1 - end.version
        between = await log.read(tenant.name, end.version, count) if 0 < count <= APPENDED_AT_ONCE else []
        if between and len(between) == count and between[-1].version == first - 1:
            entries = [*between, *entries]
    recent.remember_read(tenant.name, tenant.incarnation, entries)


def missing_entries(log: Sequence[Entry], stored: Position, ours: Sequence[Entry]) -> list[Entry] | None:
    """Return those of our entries that the log lacks; None if the two have no known entry in common.

    The log is at `stored`, and its entries are known from some version on. An entry that another worker has appended
    again is in the log under another version: it is not missing.
    """
    common = _last_common_version(log, stored, ours)
    if common is None:
        return None
    return absent_entries(
        [entry for entry in log if entry.version > common], [entry for entry in ours if entry.version > common]
    )


def absent_entries(log: Sequence[Entry], ours: Sequence[Entry]) -> list[Entry]:
    """Return those of our entries whose payload is not in the log under any version."""
    stored_payloads = Counter(entry.payload for entry in log)
    absent = []
    for entry in ours:
        if stored_payloads[entry.payload]:
            stored_payloads[entry.payload] -= 1
        else:
            absent.append(entry)
    return absent


def _last_common_version(log: Sequence[Entry], stored: Position, ours: Sequence[Entry]) -> int | None:
    """Return the last version at which both have the same history."""
    if not ours:
        return None
    chains = {0: stored.incarnation, stored.version: stored.chain} | {entry.version: entry.chain for entry in log}
    for entry in reversed(ours):
        if chains.get(entry.version) == entry.chain:
            return entry.version
        if log and follows(Position(stored.incarnation, entry.version, entry.chain), log[0]):
            return entry.version
    before = ours[0].version - 1
    is_common = before in chains and follows(Position(stored.incarnation, before, chains[before]), ours[0])
    return before if is_common else None


def draft_of(entry: Entry) -> Draft:
    """Return the draft that an entry was made from."""
    record = decode_record(entry.payload)
    if isinstance(record, FeedbackRecord):
        fingerprint = fingerprint_of(record) if record.feedback_id is not None else ""
        return Draft(entry.payload, record.feedback_id, fingerprint, 0, record.prediction_id, ANY)
    if isinstance(record, RetractionRecord):
        return Draft(entry.payload, retracts=record.first_version, is_asked=not record.is_replacement)
    return Draft(entry.payload)
