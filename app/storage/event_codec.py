"""Events as bytes in the log: a msgpack array for each, whose first item is the kind."""

import hashlib
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from app.learning.events import (
    Event,
    FeaturesRemoved,
    FeedbackGiven,
    LabelRetracted,
    ReplacedLabel,
    RetractionMade,
    Served,
    TenantConfigured,
)
from app.learning.example import Example
from kernels.arrays import Floats
from kernels.examples.packed import KEY_0, ONES, SINGLES, SOUND, flaw_in, form_of

SINGLE, DOUBLE = np.dtype("<f4"), np.dtype("<f8")
KEY = np.dtype("<u8")
RETRACTION = b"\xaaretraction"  # a msgpack string, behind the head of the array
KEY_0_ERROR = "an event has a feature with key 0, which is not the hash of any name"
VALUE_ERROR = "an event has a value that is not finite or too large"


class FeedbackRecord(msgspec.Struct, frozen=True, array_like=True, tag="feedback", omit_defaults=True):
    """A label with everything that later readers need. Names that the log already has are empty."""

    at_milliseconds: int
    label: int
    keys: bytes
    values: bytes  # in the shortest exact form; empty if all are 1
    names: Sequence[str] = ()
    served_label: int | None = None
    served_score: float | None = None
    feedback_id: str | None = None
    moderator: str | None = None
    prediction_id: str | None = None
    served_at_milliseconds: int | None = None
    key_id: str | None = None  # of the API key
    request_id: str | None = None


class LongFeedbackRecord(FeedbackRecord, frozen=True, array_like=True, tag="long feedback"):
    """The same with what only some labels have. Other payloads stay as they were."""

    given: int = 0  # the first features, which are the caller's, if numbers are encoded
    replaces: ReplacedLabel | None = None  # the first label of the prediction; a retraction before takes it back
    chosen_with: float | None = None  # the probability with which the review policy chose the prediction


class ConfigRecord(msgspec.Struct, frozen=True, array_like=True, tag="config"):
    """A change of configuration."""

    at_milliseconds: int
    changes: dict[str, int | float | str | bool | None]


class RemovalRecord(msgspec.Struct, frozen=True, array_like=True, tag="removal"):
    """A removal of negligible features."""

    at_milliseconds: int
    weight_at_most: float
    evidence_at_most: float


class RetractionRecord(msgspec.Struct, frozen=True, array_like=True, tag="retraction", omit_defaults=True):
    """Labels were taken back: their hashes, and who asked for it and why.

    A hash, and not a version: after a failover, labels may be appended again under other versions.
    """

    at_milliseconds: int
    first_version: int  # of these labels, when they were taken back
    labels: Sequence[bytes]
    reason: str | None = None
    moderator: str | None = None
    key_id: str | None = None
    request_id: str | None = None
    restores: Sequence[bytes] = ()  # labels that stand again, because what replaced them is taken back
    is_replacement: bool = False  # a second label follows, and nobody has asked to take these back


Record = FeedbackRecord | LongFeedbackRecord | ConfigRecord | RemovalRecord | RetractionRecord
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Record)


def encode(record: Record) -> bytes:
    """Return the payload of a log entry. That of a retraction ends before fields that it does not need."""
    if isinstance(record, RetractionRecord) and not record.restores and not record.is_replacement:
        return _encoder.encode(("retraction", *msgspec.structs.astuple(record)[:-2]))
    return _encoder.encode(record)


def decode_record(payload: bytes) -> Record:
    """Return the record in a payload; raise msgspec.MsgspecError or ValueError if it is invalid."""
    try:
        record: Record = _decoder.decode(payload)
    except RecursionError:
        raise ValueError("an event is nested too deeply") from None
    return record


def decode(payload: bytes, left_out: frozenset[bytes] = frozenset()) -> Event:
    """Return the event in a payload; raise msgspec.MsgspecError or ValueError if it is invalid.

    LabelRetracted takes the place of labels whose hashes are given.
    """
    match decode_record(payload):
        case FeedbackRecord() as record:
            event = _feedback(record)
            return LabelRetracted(event.example) if left_out and label_hash(payload) in left_out else event
        case ConfigRecord(changes=changes):
            return TenantConfigured(changes)
        case RemovalRecord(weight_at_most=weight, evidence_at_most=evidence):
            return FeaturesRemoved(weight, evidence)
        case RetractionRecord(labels=labels, restores=restores):
            return RetractionMade(frozenset(labels), frozenset(restores))


def decode_all(payloads: Sequence[bytes], retracted: frozenset[bytes] = frozenset()) -> list[Event]:
    """Return the events of a part of a log, without the labels that do not stand at its end.

    `retracted` are hashes of those that do not stand at its beginning.
    """
    events = [decode(payload) for payload in payloads]
    if retracted := taken_back((event for event in events if isinstance(event, RetractionMade)), retracted):
        for place, (event, payload) in enumerate(zip(events, payloads, strict=True)):
            if isinstance(event, FeedbackGiven) and label_hash(payload) in retracted:
                events[place] = LabelRetracted(event.example)
    return events


def is_retraction(payload: bytes) -> bool:
    """Tell, without decoding it, whether an event takes back labels."""
    return payload[1:12] == RETRACTION


def taken_back(retractions: Iterable[RetractionMade], before: Iterable[bytes] = ()) -> frozenset[bytes]:
    """Return the labels that do not stand after some retractions, in their order, as hashes; `before` are earlier ones.

    A part of a log is enough for the labels in it: what comes later decides.
    """
    found = set(before)
    for retraction in retractions:
        found |= retraction.labels
        found -= retraction.restores
    return frozenset(found)


def label_hash(payload: bytes) -> bytes:
    """Return what identifies a label in its log, wherever it stands there: a hash of its whole event."""
    return hashlib.blake2b(payload, digest_size=16).digest()


def packed_values(values: Floats) -> bytes:
    """Pack values without loss in as few bytes as possible: none if all are 1, four each if that is exact."""
    form = form_of(values)
    if form == ONES:
        return b""
    return values.astype(SINGLE if form == SINGLES else DOUBLE, copy=False).tobytes()


def served_by(record: Record) -> Served | None:
    """Return the verdict that was served before the feedback, if it is known."""
    if not isinstance(record, FeedbackRecord) or record.served_label is None or record.served_score is None:
        return None
    return Served(record.served_label, record.served_score)


def fingerprint_of(record: FeedbackRecord) -> str:
    """Hash label and input, whatever the order of features: two uses of a feedback_id must agree in it."""
    keys = np.frombuffer(record.keys, np.uint64)
    order = keys.argsort(kind="stable")
    digest = hashlib.blake2b(keys[order].tobytes(), digest_size=12)
    if record.values:
        digest.update(
            np.frombuffer(record.values, SINGLE if len(record.values) == 4 * keys.size else DOUBLE)[order].tobytes()
        )
    return f"{record.label}:{digest.hexdigest()}"


def _feedback(record: FeedbackRecord) -> FeedbackGiven:
    keys = np.frombuffer(record.keys, KEY).astype(np.uint64, copy=False)
    values = _values(record.values, keys.size)
    if (flaw := flaw_in(keys, values)) != SOUND:
        raise ValueError(KEY_0_ERROR if flaw == KEY_0 else VALUE_ERROR)
    if len(record.names) not in {0, keys.size}:
        raise ValueError(f"an event has {keys.size} keys and {len(record.names)} names")
    if not isinstance(record, LongFeedbackRecord):
        return FeedbackGiven(Example(keys, values, tuple(record.names)), record.label, served_by(record))
    if not 0 <= record.given <= keys.size:
        raise ValueError(f"an event has {keys.size} keys, of which {record.given} are said to be given")
    if record.chosen_with is not None and not 0.0 < record.chosen_with <= 1.0:
        raise ValueError(f"an event was chosen with probability {record.chosen_with}")
    example = Example(keys, values, tuple(record.names), record.given)
    return FeedbackGiven(example, record.label, served_by(record), record.replaces, record.chosen_with)


def _values(packed: bytes, count: int) -> Floats:
    if not packed:
        return np.ones(count)
    kind = DOUBLE if len(packed) == DOUBLE.itemsize * count else SINGLE
    values = np.frombuffer(packed, kind).astype(np.float64, copy=False)
    if values.size != count:
        raise ValueError(f"an event has {count} keys and {values.size} values")
    return values
