"""The labels in a tenant's log, and the retractions of some of them."""

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field

import msgspec

from app.learning.errors import SluiceError
from app.learning.events import FeedbackGiven, ReplacedLabel, RetractionMade
from app.learning.example import Example
from app.learning.parts.names import Names
from app.storage.event_codec import (
    FeedbackRecord,
    LongFeedbackRecord,
    Record,
    RetractionRecord,
    decode,
    decode_record,
    is_retraction,
    label_hash,
    taken_back,
)
from app.storage.event_log import Entry, EventLog

READ_AT_ONCE = 128  # decoding these takes about a millisecond


class Retraction(msgspec.Struct, frozen=True):
    """Who took a label back, when and why."""

    version: int
    at_milliseconds: int
    reason: str | None
    moderator: str | None
    key_id: str | None
    is_replacement: bool = False  # a second label for the prediction did it


class StoredLabel(msgspec.Struct, frozen=True):
    """A label as the log has it, without its input."""

    version: int
    hash: bytes
    at_milliseconds: int
    label: int
    feedback_id: str | None
    prediction_id: str | None
    moderator: str | None
    key_id: str | None
    request_id: str | None
    served_label: int | None
    served_score: float | None
    served_at_milliseconds: int | None
    replaces: ReplacedLabel | None
    chosen_with: float | None = None  # the probability with which the review policy chose the prediction, if it did


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelFilter:
    """Which labels are meant: those that have every value that is given here. Times are in milliseconds since 1970."""

    feedback_ids: frozenset[str] = frozenset()  # any of them; none: all labels
    prediction_id: str | None = None
    prediction_ids: frozenset[str] = frozenset()  # the same
    moderator: str | None = None
    key_id: str | None = None
    label: int | None = None
    since: int | None = None
    until: int | None = None

    def fits(self, found: StoredLabel | FeedbackRecord) -> bool:
        """Whether a label is meant."""
        return (
            (not self.feedback_ids or found.feedback_id in self.feedback_ids)
            and self.prediction_id in {None, found.prediction_id}
            and (not self.prediction_ids or found.prediction_id in self.prediction_ids)
            and self.moderator in {None, found.moderator}
            and self.key_id in {None, found.key_id}
            and self.label in {None, found.label}
            and (self.since is None or found.at_milliseconds >= self.since)
            and (self.until is None or found.at_milliseconds < self.until)
        )


@dataclass(slots=True)
class StoredLabels:
    """The labels of a log that fit, by version, and what was taken back."""

    first_version: int = 1  # of the log; earlier events were trimmed
    last_version: int = 0
    first_milliseconds: int | None = None  # of the first label
    labels: list[StoredLabel] = field(default_factory=list)
    retracted: dict[bytes, Retraction] = field(
        default_factory=dict
    )  # those that do not stand, by the hash of the label
    asked: set[bytes] = field(default_factory=set)  # those that a request has taken back: they never stand again


async def read_labels(log: EventLog, name: str, wanted: LabelFilter, next_version: int = 1) -> StoredLabels:
    """Read a whole log; if it is empty, as after an import without one, it will begin with `next_version`."""
    found = StoredLabels(next_version)
    version = 0
    while entries := await log.read(name, version, READ_AT_ONCE):
        if version == 0:
            found.first_version = entries[0].version
        version = entries[-1].version
        for entry in entries:
            found.last_version, record = entry.version, record_of(entry)
            if isinstance(record, FeedbackRecord):
                found.first_milliseconds = found.first_milliseconds or record.at_milliseconds
                if wanted.fits(record):
                    found.labels.append(_label(entry, record))
            elif isinstance(record, RetractionRecord):
                found.retracted |= dict.fromkeys(record.labels, _retraction(entry, record))
                for label in record.restores:
                    found.retracted.pop(label, None)
                if not record.is_replacement:
                    found.asked.update(record.labels)
    return found


async def latest_labels(
    log: EventLog, name: str, wanted: LabelFilter, before: int | None = None
) -> AsyncIterator[tuple[StoredLabel, Retraction | None]]:
    """Yield the labels before a version that fit, the newest first, and how each was taken back, if it was."""
    retracted: dict[bytes, Retraction | None] = {}  # what came last for a label
    version: int | None = None
    while entries := await log.read_back(name, version, READ_AT_ONCE):
        version = entries[-1].version
        for entry in entries:
            if before is not None and entry.version >= before and not is_retraction(entry.payload):
                continue
            record = record_of(entry)
            if isinstance(record, RetractionRecord):
                changed = dict.fromkeys(record.labels, _retraction(entry, record)) | dict.fromkeys(record.restores)
                retracted = changed | retracted
            elif isinstance(record, FeedbackRecord) and wanted.fits(record):
                label = _label(entry, record)
                yield label, retracted.get(label.hash)


def retractions_of(entries: Iterable[Entry]) -> dict[int, RetractionMade]:
    """Return the retractions among some entries by version."""
    found = {entry.version: decode(entry.payload) for entry in entries if is_retraction(entry.payload)}
    return {version: event for version, event in found.items() if isinstance(event, RetractionMade)}


def retracted_in(entries: Iterable[Entry]) -> frozenset[bytes]:
    """Return the labels that do not stand after some entries."""
    return taken_back(retractions_of(entries).values())


def record_of(entry: Entry) -> Record | None:
    """Return what an entry has; None if it cannot be read."""
    try:
        return decode_record(entry.payload)
    except (msgspec.MsgspecError, ValueError, SluiceError):
        return None  # damage is reported when the tenant is loaded


async def version_at(log: EventLog, name: str, last: int, milliseconds: int) -> int:
    """Return the last version before a time, 0 if there is none, by bisection: clocks go forward, nearly.

    A log whose beginning was trimmed reaches back to the version before its first.
    """
    first = await log.read(name, 0, 1)
    if not first or last < first[0].version:
        return last
    low, high = first[0].version - 1, last  # the answer is from low to high
    while low < high:
        middle = (low + high + 1) // 2
        entries = await log.read(name, middle - 1, 1)
        record = record_of(entries[0]) if entries else None
        if record is not None and record.at_milliseconds < milliseconds:
            low = middle
        else:
            high = middle - 1
    return low


async def label_at(log: EventLog, name: str, version: int) -> StoredLabel | None:
    """Return the label of a version; None if the log does not reach back so far, or it is no label."""
    entries = await log.read(name, version - 1, 1)
    return label_of(entries[0]) if entries and entries[0].version == version else None


def label_of(entry: Entry) -> StoredLabel | None:
    """Return the label in an entry; None if it has none."""
    record = record_of(entry)
    return _label(entry, record) if isinstance(record, FeedbackRecord) else None


async def example_at(log: EventLog, name: str, version: int, names: Names) -> Example | None:
    """Return what was labelled by the event of a version, with the names that the tenant knows; None if it is gone."""
    entries = await log.read(name, version - 1, 1)
    event = decode(entries[0].payload) if entries and entries[0].version == version else None
    if not isinstance(event, FeedbackGiven):
        return None
    return msgspec.structs.replace(event.example, names=[names.name_of(key) for key in event.example.keys.tolist()])


def _label(entry: Entry, record: FeedbackRecord) -> StoredLabel:
    return StoredLabel(
        entry.version,
        label_hash(entry.payload),
        record.at_milliseconds,
        record.label,
        record.feedback_id,
        record.prediction_id,
        record.moderator,
        record.key_id,
        record.request_id,
        record.served_label,
        record.served_score,
        record.served_at_milliseconds,
        record.replaces if isinstance(record, LongFeedbackRecord) else None,
        record.chosen_with if isinstance(record, LongFeedbackRecord) else None,
    )


def _retraction(entry: Entry, record: RetractionRecord) -> Retraction:
    return Retraction(
        entry.version, record.at_milliseconds, record.reason, record.moderator, record.key_id, record.is_replacement
    )
