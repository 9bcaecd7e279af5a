"""What clients asked and were answered, which faults there were, and what was found in the end."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, TextIO

import msgspec

NO_ANSWER = 0  # the status of an attempt whose connection broke, or that timed out
RETRIED = frozenset({NO_ANSWER, 429, 503})
FORGOTTEN = "/problems/feedback-forgotten"  # the label counts, once; only its first answer is not known any more
TOO_OLD = "/problems/label-too-old"  # it cannot be taken back: the log or the snapshots begin later
SNAPSHOT_BUSY = "/problems/snapshot-busy"  # nothing was done; it is sent again
GONE = ""  # the digest of a tenant that is not there


class Kind(StrEnum):
    """What a client can want."""

    LABEL = "label"  # with a feedback_id: exactly once
    SECOND_LABEL = "second label"  # the same, for a prediction that has a label: it takes the place of that
    UNNAMED_LABEL = "unnamed label"  # without: at least once if acknowledged
    RETRACT = "retract"
    SETTING = "setting"
    PREDICT = "predict"
    DELETE = "delete"
    IMPORT = "import"
    EXPORT = "export"
    CREATE_KEY = "create key"
    REVOKE_KEY = "revoke key"
    USE_KEY = "use key"


NAMED_LABELS = (Kind.LABEL, Kind.SECOND_LABEL)
ALL_LABELS = (*NAMED_LABELS, Kind.UNNAMED_LABEL)


class Attempt(msgspec.Struct):
    """One request of an operation."""

    service: int
    request_id: str
    begin: float
    end: float
    status: int  # NO_ANSWER, or that of this operation's part of the answer
    answer: dict[str, Any] = {}  # the answer to this operation; a problem if it failed
    echo: str = ""  # the request id of the answer

    @property
    def acknowledged(self) -> bool:
        return self.status // 100 == 2

    @property
    def is_retried(self) -> bool:
        return self.status in RETRIED or self.answer.get("type") == SNAPSHOT_BUSY

    @property
    def unresolved(self) -> bool:
        """Whether it may have had its effect, or still may have it later."""
        return self.status in RETRIED


class Operation(msgspec.Struct):
    """What a client wanted, with all its attempts, the same each time."""

    kind: Kind
    tenant: str  # empty for keys
    name: str  # unique in the run: a feedback_id, a moderator, the id of a key
    wanted: dict[str, Any] = {}
    attempts: list[Attempt] = []

    @property
    def begin(self) -> float:
        return self.attempts[0].begin

    @property
    def end(self) -> float:
        return self.attempts[-1].end

    @property
    def acknowledgements(self) -> list[Attempt]:
        return [attempt for attempt in self.attempts if attempt.acknowledged]

    @property
    def unresolved(self) -> list[Attempt]:
        return [attempt for attempt in self.attempts if attempt.unresolved]


class Disruption(msgspec.Struct):
    """A fault as it really was."""

    fault: str
    target: str
    begin: float
    end: float
    detail: str = ""


class History:
    """All operations that the checker needs in memory, and every line in a file."""

    def __init__(self, path: Path | None = None) -> None:
        self.operations: list[Operation] = []
        self.disruptions: list[Disruption] = []
        self.began = time.monotonic()
        self._file: TextIO | None = path.open("w", encoding="utf-8") if path else None

    def add(self, operation: Operation) -> Operation:
        self.operations.append(operation)
        return operation

    def note(self, operation: Operation, attempt: Attempt) -> None:
        """Add an attempt to an operation."""
        operation.attempts = [*operation.attempts, attempt]
        self._write({"kind": operation.kind, "tenant": operation.tenant, "name": operation.name}, attempt)

    def ended(self, disruption: Disruption) -> None:
        """Note that a fault is over; it is among the disruptions since its beginning."""
        self._write({}, disruption)

    def of(self, *kinds: Kind) -> Iterator[Operation]:
        return (operation for operation in self.operations if operation.kind in kinds and operation.attempts)

    def close(self) -> None:
        if self._file:
            self._file.close()

    def _write(self, facts: dict[str, str], record: Attempt | Disruption) -> None:
        if self._file:
            self._file.write(msgspec.json.encode(facts | msgspec.to_builtins(record)).decode() + "\n")


@dataclass(frozen=True, slots=True)
class Violation:
    """A promise that was not kept."""

    promise: str
    tenant: str
    name: str  # of the operation, if there is one
    text: str
    at: float  # when it was acknowledged, or found


@dataclass(frozen=True, slots=True)
class Logged:
    """An event of a log."""

    version: int
    name: str  # the feedback_id, else the moderator; empty for other events
    label: int = 0
    changes: dict[str, Any] = field(default_factory=dict)
    prediction_id: str | None = None
    retracted: bool = False  # this label does not stand at the end of the log
    restored: bool = False  # it stood again for a time at least


@dataclass(slots=True)
class TenantFound:
    """A tenant in the end."""

    tenant: str
    log: list[Logged]
    is_whole: bool = True  # no gap, no fork
    replayed: str = ""  # the digest of a replay
    shown: dict[str, str] = field(default_factory=dict)  # its digest, by worker; GONE: 404


@dataclass(slots=True)
class Found:
    """Everything that a run leaves behind."""

    tenants: dict[str, TenantFound] = field(default_factory=dict)
    keys: dict[str, set[int]] = field(default_factory=dict)  # the statuses that each key gets in the end
    flaws: list[str] = field(default_factory=list)  # of processes: endings, memory, tracebacks
    unretracted: set[str] = field(default_factory=set)  # tenants with a retraction that a service reported as lost


def within(disruptions: Iterable[Disruption], begin: float, end: float) -> list[Disruption]:
    """Return the faults that overlap this time."""
    return [each for each in disruptions if each.begin <= end and each.end >= begin]
