"""What if: the kept labels tested on two copies of a model, one of them with other settings or from another tenant.

Both copies test each label before they learn it. The tenant itself is only read.
"""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import NamedTuple

import numpy as np

from app.learning.config import Value
from app.learning.errors import BadSetting
from app.learning.events import Event, FeedbackGiven, TenantConfigured
from app.learning.parts.confusion import Confusion
from app.learning.snapshot.model_file import decode
from app.learning.state import TenantState, advance
from app.storage.event_log import Entry
from app.tenants.errors import Abandoned, LogReplaced, WhatIfTooLarge
from app.tenants.feedback import Caller
from app.tenants.labels.stored_labels import LabelFilter, StoredLabel, label_of
from app.tenants.recovery import ENTRIES_AT_ONCE, Recovery
from app.tenants.rules import FeatureLimit
from app.tenants.snapshotter import encode_state
from app.tenants.tenant import Tenant
from kernels.arrays import Floats

EVERY_LABEL = LabelFilter()
Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """What the other side has, which labels are compared, and how many flipped verdicts are listed."""

    settings: Mapping[str, Value] = field(default_factory=dict)
    model_of: str | None = None  # a tenant: its settings and its model of now
    compared: LabelFilter = EVERY_LABEL
    flips: int = 20


@dataclass(frozen=True, slots=True)
class Side:
    """The settings of a side at the end, and its verdicts against the labels."""

    config: Mapping[str, Value]
    counts: Confusion


@dataclass(frozen=True, slots=True)
class Flip:
    """A label for which the sides have different verdicts, and the score of each."""

    label: StoredLabel
    actual_verdict: int
    actual_score: float
    other_verdict: int
    other_score: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """What would have changed. Both sides began behind `start`, 0 if the whole log is kept, and ended at `version`."""

    start: int
    version: int
    actual: Side
    other: Side
    refused: int  # labels that one of the sides cannot learn; they are not compared
    corrected: int  # verdicts that were wrong, and would be right
    spoilt: int  # verdicts that were right, and would be wrong
    flips: list[Flip]  # the newest first


class Tested(NamedTuple):
    """How a side judges some labels; false and 0 for those that it cannot learn."""

    is_learnt: Flags
    is_anomaly: Flags
    scores: Floats


class Sides:
    """The two copies, and what the comparison has found so far."""

    def __init__(self, tenant: Tenant, other: TenantState, asked: WhatIf) -> None:
        self._tenant = tenant  # the actual side, at the beginning
        self._other = other
        self._asked = asked
        self._start = tenant.state.version
        self._counts = np.zeros((2, 4), np.int64)
        self._refused = self._corrected = self._spoilt = 0
        self._flips: deque[tuple[Entry, bool, float, float]] = deque(maxlen=asked.flips)
        if asked.settings:
            self._configure_other()

    @property
    def version(self) -> int:
        """The last version that was replayed."""
        return self._tenant.state.version

    @property
    def bytes(self) -> int:
        """The memory of the two copies."""
        return self._tenant.state.bytes + self._other.bytes

    def advance(self, entries: Sequence[Entry]) -> None:
        """Replay the next entries on both sides; a thread may do it."""
        events = self._tenant.events_of(entries)
        for is_label, run in groupby(
            zip(entries, events, strict=True), lambda pair: isinstance(pair[1], FeedbackGiven)
        ):
            if is_label:
                self._compare(*zip(*run, strict=True))  # groupby selects FeedbackGiven
            else:
                for _, event in run:
                    self._change(event)
        self._tenant.chain = entries[-1].chain

    def result(self) -> Comparison:
        """Return what was found."""
        actual, other = (Confusion(*counts) for counts in self._counts.tolist())
        return Comparison(
            self._start,
            self.version,
            Side(self._tenant.state.config.values, actual),
            Side(self._other.config.values, other),
            self._refused,
            self._corrected,
            self._spoilt,
            [_flip(*each) for each in reversed(self._flips)],
        )

    def _compare(self, entries: Sequence[Entry], events: Sequence[FeedbackGiven]) -> None:
        """Test both sides on some labels, then let them learn these."""
        actual, other = _test_then_train(self._tenant.state, events), _test_then_train(self._other, events)
        is_compared = np.ones(len(events), np.bool_)
        if self._asked.compared != EVERY_LABEL:
            found = map(label_of, entries)
            is_compared = np.array([label is not None and self._asked.compared.fits(label) for label in found])
        is_learnt = actual.is_learnt & other.is_learnt
        self._refused += int((is_compared & ~is_learnt).sum())
        is_compared &= is_learnt
        is_labelled = np.array([event.label > 0 for event in events])
        for row, side in enumerate((actual, other)):
            self._counts[row] += np.bincount((2 * is_labelled + side.is_anomaly)[is_compared], minlength=4)
        is_flipped = is_compared & (actual.is_anomaly != other.is_anomaly)
        corrected = int((is_flipped & (other.is_anomaly == is_labelled)).sum())
        self._corrected += corrected
        self._spoilt += int(is_flipped.sum()) - corrected
        for k in np.flatnonzero(is_flipped).tolist():
            self._flips.append((entries[k], bool(actual.is_anomaly[k]), actual.scores.item(k), other.scores.item(k)))

    def _change(self, event: Event) -> None:
        """Apply another event than a label. The model of another tenant learns only the labels."""
        advance(self._tenant.state, event)
        if self._asked.model_of is not None:
            return
        if not isinstance(event, TenantConfigured) or not self._asked.settings:
            advance(self._other, event)
            return
        self._other.version += 1
        if not event.changes.keys() <= self._asked.settings.keys():
            self._configure_other()

    def _configure_other(self) -> None:
        """Give the other side the settings in force, with the wanted ones in their place.

        Where these do not fit, as while the tenant had an algorithm that does not use them, its own settings stay.
        """
        own = self._tenant.state.config if self._asked.model_of is None else self._other.config
        try:
            self._other.configure(own.changed(self._asked.settings))
        except BadSetting:
            self._other.configure(own)


@dataclass(frozen=True, slots=True)
class WhatIfs:
    """Compares, one at a time in a worker: each comparison needs two copies of a model."""

    recovery: Recovery
    features: FeatureLimit
    memory_bytes: int  # for the two copies
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def compare(
        self, tenant: Tenant, model: Tenant | None, asked: WhatIf, caller: Caller | None = None
    ) -> Comparison:
        """Replay the log up to now on both sides; raise BadSetting if PUT would refuse the settings."""
        config = (model or tenant).state.config
        asked = replace(asked, settings=self.features.accept(config, asked.settings, is_new=False))
        async with self.turn:
            self._check(tenant.state.bytes + (model or tenant).state.bytes, caller)
            end = tenant.position
            start = await self.recovery.earliest(tenant.name, end)
            sides = Sides(start, await _copy(model or start), asked)
            while (missing := end.version - sides.version) > 0:
                self._check(sides.bytes, caller)
                entries = await self.recovery.log.read(tenant.name, sides.version, min(ENTRIES_AT_ONCE, missing))
                if not entries:
                    raise LogReplaced(tenant.name)
                await asyncio.to_thread(sides.advance, entries)
            return sides.result()

    def _check(self, needed: int, caller: Caller | None) -> None:
        if caller is not None and caller.is_client_gone:
            raise Abandoned
        if needed > self.memory_bytes:
            raise WhatIfTooLarge(needed, self.memory_bytes)


async def _copy(tenant: Tenant) -> TenantState:
    """Copy the state of a tenant."""
    encoded = await encode_state(tenant)
    return await asyncio.to_thread(decode, encoded.header, encoded.chunk_bytes)


def _test_then_train(state: TenantState, events: Sequence[FeedbackGiven]) -> Tested:
    is_learnt = np.array([state.refusal(event) is None for event in events])
    scores, is_anomaly = np.zeros(len(events)), np.zeros(len(events), np.bool_)
    scores[is_learnt], thresholds = state.learn_all(events)
    is_anomaly[is_learnt] = scores[is_learnt] > thresholds
    return Tested(is_learnt, is_anomaly, scores)


def _flip(entry: Entry, was_anomaly: bool, actual: float, other: float) -> Flip:  # noqa: FBT001 - a value
    label = label_of(entry)
    assert label is not None
    verdict = 1 if was_anomaly else -1
    return Flip(label, verdict, actual, -verdict, other)
