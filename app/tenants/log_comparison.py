"""Comparing a log with what this worker has applied: the store may have lost some of it, and others gone on since."""

from collections import Counter
from collections.abc import Sequence

from app.storage.event_log import Entry, Position, next_chain


def lacking(log: Sequence[Entry], there: Position, ours: Sequence[Entry]) -> list[Entry] | None:
    """Those of our entries that the log does not have; None if nothing is known to be common to both.

    The log stands `there`, and its entries are known from somewhere on. An entry that stands elsewhere in it by now,
    because another worker has appended it again, is not lacking.
    """
    common = _last_common(log, there, ours)
    if common is None:
        return None
    there_too = Counter(entry.payload for entry in log if entry.version > common)
    lost = []
    for entry in (entry for entry in ours if entry.version > common):
        if there_too[entry.payload]:
            there_too[entry.payload] -= 1
        else:
            lost.append(entry)
    return lost


def follows(position: Position, entry: Entry) -> bool:
    """Whether an entry was written right behind a position."""
    return entry.version == position.version + 1 and next_chain(position.chain, entry.payload) == entry.chain


def _last_common(log: Sequence[Entry], there: Position, ours: Sequence[Entry]) -> int | None:
    """The last version at which both have the same history."""
    if not ours:
        return None
    chains = {0: there.born, there.version: there.chain} | {entry.version: entry.chain for entry in log}
    for entry in reversed(ours):
        if chains.get(entry.version) == entry.chain:
            return entry.version
        if log and follows(Position(there.born, entry.version, entry.chain), log[0]):
            return entry.version
    before = ours[0].version - 1
    return before if before in chains and follows(Position(there.born, before, chains[before]), ours[0]) else None
