"""Taking labels back: afterwards the state is that of a log in which they never stood.

A retraction is an event of the log. A worker that reads it rebuilds the tenant from the newest snapshot before the
first of these labels, without them. Meanwhile predictions continue from the old state, and feedback waits.
"""

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from app.learning.events import RetractionMade
from app.learning.state import TenantState
from app.storage.errors import StoreUnavailable
from app.storage.event_codec import RetractionRecord, encode
from app.storage.event_log import CHANGED, UNREACHABLE, Appended, Draft, EventLog, Group
from app.storage.snapshots import SnapshotStore
from app.telemetry.counters import Telemetry
from app.tenants.errors import LabelOfAnother, LabelUnknown, LogReplaced, RetractionTooOld, SnapshotBusy
from app.tenants.labels.stored_labels import LabelFilter, StoredLabel, StoredLabels, read_labels
from app.tenants.log_follower import Replayer
from app.tenants.snapshotter import Snapshotter
from app.tenants.tenant import Tenant

logger = logging.getLogger("sluice.tenants")

ATTEMPTS = 10  # one fails only if others take labels back, or give second labels for these, meanwhile
SHOWN = 5  # ids in a message


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asks for a retraction, and why."""

    reason: str | None = None
    moderator: str | None = None
    key_id: str | None = None
    request_id: str | None = None
    only_own: bool = False  # the caller may take back only what was given with its key


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How good a state was when it tested its labels, before it learnt each of them."""

    examples: int
    balanced_accuracy: float | None
    sensitivity: float | None
    specificity: float | None

    @classmethod
    def of(cls, state: TenantState) -> "Accuracy":
        """Take it from the counts of a state."""
        counts = state.prequential.recent
        return cls(int(counts.examples), counts.balanced_accuracy, counts.sensitivity, counts.specificity)


@dataclass(frozen=True, slots=True)
class Retracted:
    """What was taken back, or would be, and what that does."""

    version: int
    labels: list[StoredLabel]
    restored: int  # labels that these had replaced, and that stand again
    already: int  # that fit, but had been taken back before
    before: Accuracy
    after: Accuracy


@dataclass(frozen=True, slots=True)
class Wanted:
    """Labels to take back, in the order of the log, and what follows from it."""

    labels: list[StoredLabel]
    restored: list[StoredLabel]
    already: int
    first: int  # version of a label that is learnt no more, or again
    seen: int  # version up to which the log was read

    @property
    def event(self) -> RetractionMade:
        """The event that takes them back."""
        return RetractionMade(frozenset(map(_hash, self.labels)), frozenset(map(_hash, self.restored)))


@dataclass(frozen=True, slots=True)
class Retractions:
    """Takes labels back, in one tenant at a time: each retraction, also a dry run, loads a tenant again."""

    log: EventLog
    snapshots: SnapshotStore
    replayer: Replayer
    snapshotter: Snapshotter
    telemetry: Telemetry
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def preview(self, tenant: Tenant, wanted: LabelFilter, asked: Asked) -> Retracted:
        """Say what a retraction would do, and change nothing."""
        async with self.turn:
            return await self._preview(tenant, wanted, asked)

    async def retract(self, tenant: Tenant, wanted: LabelFilter, asked: Asked) -> Retracted:
        """Take labels back, and return when the state of this worker is without them."""
        async with self.turn:
            return await self._retract(tenant, wanted, asked)

    async def _preview(self, tenant: Tenant, wanted: LabelFilter, asked: Asked) -> Retracted:
        found = await self._find(tenant, wanted, asked)
        before = Accuracy.of(tenant.state)
        if not found.labels:
            return Retracted(tenant.state.version, [], 0, found.already, before, before)
        await self.check_reach(tenant.name, found.first)
        loaded = await self.replayer.recovery.load(tenant.name, also=found.event, before=found.first)
        if loaded.tenant is None or loaded.tenant.incarnation != tenant.incarnation:
            raise LogReplaced(tenant.name)
        after = Accuracy.of(loaded.tenant.state)
        return Retracted(tenant.state.version, found.labels, len(found.restored), found.already, before, after)

    async def _retract(self, tenant: Tenant, wanted: LabelFilter, asked: Asked) -> Retracted:
        for _ in range(ATTEMPTS):
            found = await self._find(tenant, wanted, asked)
            before = Accuracy.of(tenant.state)
            if not found.labels:
                return Retracted(tenant.state.version, [], 0, found.already, before, before)
            if version := await self._append(tenant, found, asked):
                break
        else:
            raise LogReplaced(tenant.name)
        self.telemetry.labels_retracted += len(found.labels)
        await self.replayer.catch_up(tenant, version)
        logger.info("tenant %s: %d labels were taken back, as version %d", tenant.name, len(found.labels), version)
        with suppress(SnapshotBusy, StoreUnavailable):  # others can load it instead of rebuilding it on their own
            await self.snapshotter.take(tenant)
        after = Accuracy.of(tenant.state)
        return Retracted(version, found.labels, len(found.restored), found.already, before, after)

    async def _append(self, tenant: Tenant, found: Wanted, asked: Asked) -> int | None:
        """Append the event; None if what it relies on has changed since the log was read."""
        draft = draft_of(found.labels, asked, found.seen, restored=found.restored, first=found.first)
        (answer,) = await self.log.append([Group(tenant.name, tenant.position, [draft])])
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Appended):
            return answer.after.version
        if answer.why == CHANGED:
            return None
        if answer.why == UNREACHABLE:
            await self.check_reach(tenant.name, found.first)
        raise LogReplaced(tenant.name)

    async def _find(self, tenant: Tenant, wanted: LabelFilter, asked: Asked) -> Wanted:
        """Return what is to be taken back: labels that stand, or that would stand again later."""
        stored = await read_labels(self.log, tenant.name, wanted, tenant.state.version + 1)
        fitting = stored.labels
        _check_all_found(stored, wanted)
        if asked.only_own and any(label.key_id != asked.key_id for label in fitting):
            raise LabelOfAnother
        labels = [label for label in fitting if label.hash not in stored.asked]
        ids = frozenset(each.prediction_id for each in labels if each.replaces and each.prediction_id)
        restored: list[StoredLabel] = []
        if ids:
            predictions = await read_labels(self.log, tenant.name, LabelFilter(prediction_ids=ids))
            restored = restored_by(labels, predictions)
        changed = [
            each.version for each in (*labels, *restored) if each in restored or each.hash not in stored.retracted
        ]
        first = min(changed, default=stored.last_version + 1)
        return Wanted(labels, restored, len(fitting) - len(labels), first, stored.last_version)

    async def check_reach(self, name: str, first: int) -> None:
        """Raise RetractionTooOld if no state from before a version can be rebuilt."""
        versions = await self.snapshots.versions(name)
        oldest = await self.log.read(name, 0, 1)
        if any(version < first for version in versions) or (oldest and oldest[0].version == 1):
            return
        reach = f"version {min(versions):,}" if versions else "no label"
        raise RetractionTooOld(
            f"the first of these labels is version {first:,}, and the oldest kept snapshot of tenant {name!r} is "
            f"{reach}: only later labels can be taken back"
        )


def restored_by(labels: Sequence[StoredLabel], predictions: StoredLabels) -> list[StoredLabel]:
    """Return the labels that stand again without some others, of which each may have replaced one before it."""
    gone = {*predictions.asked, *map(_hash, labels)}
    history = defaultdict[str | None, list[StoredLabel]](list)
    for label in predictions.labels:
        history[label.prediction_id].append(label)
    found = []
    for given in history.values():
        standing = [each for each in given if each.hash not in predictions.retracted]
        if not standing or any(each.hash not in gone for each in standing):
            continue
        label = standing[-1]
        while label.hash in gone and label.replaces is not None:
            label = _replaced(label, given)
        if label.hash not in gone:
            found.append(label)
    return found


def _replaced(label: StoredLabel, given: Sequence[StoredLabel]) -> StoredLabel:
    """Return the label that one has replaced: after a failover, it may have another version than then."""
    first = label.replaces
    assert first is not None
    known = (first.label, first.feedback_id, first.moderator)
    fitting = [
        each
        for each in given
        if each.version < label.version and (each.label, each.feedback_id, each.moderator) == known
    ]
    if not fitting:
        raise RetractionTooOld(
            f"label {label.feedback_id!r}, version {label.version:,}, has replaced version {first.version:,}, which "
            "the log does not have any more, so that it cannot stand again"
        )
    return next((each for each in fitting if each.version == first.version), fitting[-1])


def draft_of(  # noqa: PLR0913 - facts of an event
    labels: Sequence[StoredLabel],
    asked: Asked,
    seen: int,
    *,
    restored: Sequence[StoredLabel] = (),
    first: int | None = None,
    is_replacement: bool = False,
) -> Draft:
    """Return the event that takes back these labels, by what is known of the log up to the version `seen`."""
    first = min(label.version for label in labels) if first is None else first
    record = RetractionRecord(
        at_milliseconds=time.time_ns() // 1_000_000,
        first_version=first,
        labels=[label.hash for label in labels],
        reason=asked.reason,
        moderator=asked.moderator,
        key_id=asked.key_id,
        request_id=asked.request_id,
        restores=[label.hash for label in restored] or (),
        is_replacement=is_replacement,
    )
    settled = [label.prediction_id for label in restored if label.prediction_id]
    return Draft(encode(record), retracts=first, seen=seen, is_asked=not is_replacement, settled=settled)


def _hash(label: StoredLabel) -> bytes:
    return label.hash


def _check_all_found(stored: StoredLabels, wanted: LabelFilter) -> None:
    """Raise an error if labels that are wanted may be missing in the log."""
    unknown = wanted.feedback_ids - {str(label.feedback_id) for label in stored.labels}
    is_trimmed = stored.first_version > 1
    begin = stored.first_milliseconds
    if unknown and not is_trimmed:
        raise LabelUnknown(f"no label has the feedback_id {_shown(unknown)}")
    if unknown:
        raise RetractionTooOld(
            f"the log begins with version {stored.first_version:,}; it has no label with the feedback_id "
            f"{_shown(unknown)}"
        )
    since = wanted.since
    if is_trimmed and not wanted.feedback_ids and (begin is None or since is None or since < begin):
        earlier = f"the log begins with version {stored.first_version:,}; earlier labels cannot be taken back"
        if begin is None:
            raise RetractionTooOld(f"{earlier}, and there is no later one")
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(-(-begin // 1000)))
        raise RetractionTooOld(f"{earlier}. Ask for those since {when} or later")


def _shown(ids: frozenset[str]) -> str:
    shown = ", ".join(map(repr, sorted(ids)[:SHOWN]))
    return f"{shown} and {len(ids) - SHOWN:,} others" if len(ids) > SHOWN else shown
