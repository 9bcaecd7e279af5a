"""The newest labels of a tenant as columns, for figures over time.

What was read of a log is remembered: when it has grown, only the new part is read.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from app.storage.event_codec import ConfigRecord, FeedbackRecord, LongFeedbackRecord, RetractionRecord, label_hash
from app.storage.event_log import Entry, EventLog, next_chain
from app.tenants.labels.stored_labels import READ_AT_ONCE, record_of

MOST_LABELS: Final = 50_000  # of one tenant
MOST_CHANGES: Final = 100  # of settings
MOST_TENANTS: Final = 8  # that are remembered; each takes up to 2 MB
COLUMNS: Final = np.dtype(
    [
        ("version", "i8"),
        ("at", "i8"),
        ("label", "i1"),
        ("served", "i1"),
        ("served_at", "i8"),
        ("chosen_with", "f8"),
        ("hash", "u8"),
    ]
)
Columns = NDArray[np.void]
Row = tuple[Any, ...]  # of COLUMNS


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """A change of settings; times are in milliseconds since 1970."""

    version: int
    at_milliseconds: int
    settings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LabelHistory:
    """The newest labels that stand, in the order of the log, and the newest changes of settings.

    In `labels`, a verdict, a time or a probability that is not known is 0. `is_complete`: the log has no earlier ones.
    """

    version: int
    is_complete: bool
    labels: Columns
    changes: tuple[SettingsChange, ...] = ()


@dataclass(slots=True)
class Known:
    """What was read of one log: its newest labels, also those that do not stand."""

    incarnation: str
    version: int = 0
    chain: str = ""
    is_complete: bool = True
    labels: Columns = field(default_factory=lambda: np.empty(0, COLUMNS))
    changes: list[SettingsChange] = field(default_factory=list)
    retracted: set[int] = field(default_factory=set)  # hashes

    def add(self, pages: Sequence["Page"], last: Entry, most: int) -> None:
        """Add what the next entries of the log have, up to the last one; drop the oldest labels beyond a number."""
        for fact in (fact for page in pages for fact in page.others):
            if isinstance(fact, SettingsChange):
                self.changes.append(fact)
            else:
                self.retracted.update(map(_short, fact.labels))
                self.retracted.difference_update(map(_short, fact.restores))
        self.version, self.chain = last.version, last.chain
        self.labels = np.concatenate([self.labels, *(page.labels for page in pages)])
        self.changes = self.changes[-MOST_CHANGES:]
        if self.labels.size > most:
            self.labels, self.is_complete = self.labels[-most:].copy(), False

    def standing(self) -> LabelHistory:
        """Return the labels that were not taken back."""
        labels = self.labels
        if self.retracted:
            gone = np.fromiter(self.retracted, np.uint64, len(self.retracted))
            labels = labels[~np.isin(labels["hash"], gone)]
        return LabelHistory(self.version, self.is_complete, labels, tuple(self.changes))


@dataclass(slots=True)
class Page:
    """What some entries of a log have, in their order."""

    labels: Columns
    others: list[SettingsChange | RetractionRecord]


class LabelHistories:
    """The histories of the tenants that somebody has looked at lately. One is read at a time, page by page."""

    def __init__(self, log: EventLog, most_labels: int = MOST_LABELS) -> None:
        self._log = log
        self._most = most_labels
        self._turn = asyncio.Lock()
        self._known: OrderedDict[str, Known] = OrderedDict()

    async def read(self, tenant: str, incarnation: str) -> LabelHistory:
        """Return the newest labels of a tenant, as the store has them."""
        async with self._turn:
            known = self._known.pop(tenant, None)
            if known is None or known.incarnation != incarnation or not await self._follow(tenant, known):
                known = await self._read_whole(tenant, incarnation)
            self._known[tenant] = known
            while len(self._known) > MOST_TENANTS:
                self._known.popitem(last=False)
            return known.standing()

    async def _follow(self, tenant: str, known: Known) -> bool:
        """Read what was appended; False if the log has another history now."""
        newest = await self._log.read_back(tenant, None, 1)
        if not newest or newest[0].version < known.version:  # the store has lost its end
            return False
        if newest[0].version == known.version:
            return newest[0].chain == known.chain
        if newest[0].version - known.version > self._most:
            return False  # it takes as long to read it from the end
        while entries := await self._log.read(tenant, known.version, READ_AT_ONCE):
            if next_chain(known.chain, entries[0].payload) != entries[0].chain:
                return False
            known.add([_page(entries)], entries[-1], self._most)
        return True

    async def _read_whole(self, tenant: str, incarnation: str) -> Known:
        """Read from the end until there are labels enough. Only what is kept of an entry stays in memory."""
        known, pages = Known(incarnation), list[Page]()
        newest, version, count = None, None, 0
        while entries := await self._log.read_back(tenant, version, READ_AT_ONCE):
            newest, version = newest or entries[0], entries[-1].version
            pages.append(_page(reversed(entries)))
            count += pages[-1].labels.size
            if count >= self._most:
                known.is_complete = False
                break
        if newest is not None:
            known.add(pages[::-1], newest, self._most)
        return known


def _page(entries: Iterable[Entry]) -> Page:
    rows: list[Row] = []
    others: list[SettingsChange | RetractionRecord] = []
    for entry in entries:
        match record_of(entry):
            case FeedbackRecord() as record:
                rows.append(_row(entry, record))
            case ConfigRecord() as record:
                others.append(SettingsChange(entry.version, record.at_milliseconds, tuple(record.changes)))
            case RetractionRecord() as record:
                others.append(record)
    return Page(np.array(rows, COLUMNS), others)


def _row(entry: Entry, record: FeedbackRecord) -> Row:
    return (
        entry.version,
        record.at_milliseconds,
        record.label,
        record.served_label or 0,
        record.served_at_milliseconds or 0,
        (record.chosen_with if isinstance(record, LongFeedbackRecord) else None) or 0.0,
        _short(label_hash(entry.payload)),
    )


def _short(digest: bytes) -> int:
    """Return half of a hash: enough to tell some thousand labels apart."""
    return int.from_bytes(digest[:8], "little")
