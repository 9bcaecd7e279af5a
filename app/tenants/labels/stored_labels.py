"""The labels in a tenant's log."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import msgspec

from app.learning.errors import SluiceError
from app.storage.event_codec import FeedbackRecord, RetractionRecord, decode_record, label_hash
from app.storage.event_log import Entry, EventLog

READ_AT_ONCE = 512  # decoding these takes about a millisecond


@dataclass(frozen=True, slots=True)
class StoredLabel:
    """A label as the log has it."""

    version: int
    hash: bytes
    record: FeedbackRecord


@dataclass(slots=True)
class StoredLabels:
    """All labels that a log still has, by version, and those of them that were taken back."""

    first_version: int = 1  # of the log; earlier events were trimmed
    first_milliseconds: int | None = None
    labels: list[StoredLabel] = field(default_factory=list)
    retracted: set[bytes] = field(default_factory=set)


async def read_labels(log: EventLog, name: str) -> StoredLabels:
    """Read the labels of a log."""
    found = StoredLabels()
    is_first = True
    async for entry in entries_of(log, name):
        if is_first:
            found.first_version, is_first = entry.version, False
        match _record(entry):
            case FeedbackRecord() as record:
                found.labels.append(StoredLabel(entry.version, label_hash(entry.payload), record))
                found.first_milliseconds = found.first_milliseconds or record.at_milliseconds
            case RetractionRecord(labels=labels):
                found.retracted.update(labels)
    return found


async def entries_of(log: EventLog, name: str) -> AsyncIterator[Entry]:
    """Yield the entries of a log, in order."""
    version = 0
    while entries := await log.read(name, version, READ_AT_ONCE):
        for entry in entries:
            yield entry
        version = entries[-1].version


def _record(entry: Entry) -> object:
    try:
        return decode_record(entry.payload)
    except (msgspec.MsgspecError, ValueError, SluiceError):
        return None  # damage is reported when the tenant is loaded
