"""Tenants and kept predictions in memory: the real state and the real kernels, without a store."""

import threading
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import count

from app.features.extraction import Extraction
from app.learning.config import Value
from app.learning.errors import SluiceError
from app.learning.events import FeedbackGiven, Served, TenantConfigured
from app.learning.example import Example, example_of
from app.learning.parts.confusion import Confusion
from app.learning.snapshot.model_file import dump, load
from app.learning.state import TenantState, advance, apply
from app.storage.deleted_tenants import DeletedTenant
from app.storage.errors import StoreUnavailable
from app.storage.metadata import Position
from app.tenants.errors import FeedbackConflict, NothingDeleted, TenantExists, TenantUnknown
from app.tenants.feedback import Caller
from app.tenants.labels.retraction import Accuracy, Asked, Retracted
from app.tenants.labels.similarity import SimilarLabels
from app.tenants.labels.stored_labels import LabelFilter, Retraction, StoredLabel
from app.tenants.labels.timeline import Timeline
from app.tenants.labels.what_if import Comparison, Side, WhatIf
from app.tenants.readiness import Part, Readiness
from app.tenants.registry import ListedTenant
from app.tenants.snapshotter import SnapshotTaken
from app.tenants.tenant import Feedback, FeedbackResult, Tenant
from tests.api.fake_timeline import timeline_from


class FakeFeaturizer:
    """Every word is a feature, and so is the version; only the first `longest` characters of an input are used."""

    def __init__(self) -> None:
        self.longest = 1_000_000
        self.asked: list[tuple[str, str | bytes]] = []
        self.threads: set[int] = set()

    def __call__(self, kind: str, raw: str | bytes, version: int, /) -> Extraction:
        self.asked.append((kind, raw))
        self.threads.add(threading.get_ident())
        text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw
        words = dict.fromkeys(text[: self.longest].split(), 1.0)
        cut = [f"what comes after {self.longest} characters"] if len(text) > self.longest else []
        features = {f"{kind}:{word}": value for word, value in words.items()} | {f"v{version}": 0.5}
        return Extraction(example_of(features, is_given=False), cut)


class FakeTenants:
    """Every tenant is in memory. `trouble` is the store's; `broken` is a mistake of our own."""

    def __init__(self) -> None:
        self.tenants: dict[str, Tenant] = {}
        self.feedback_writer = FakeFeedbackWriter(self)
        self.trouble: str | None = None
        self.broken: Exception | None = None
        self.auto_create = True
        self.exported_with_log = False
        self.deleted_tenants: dict[str, Tenant] = {}
        self.damaged = ""
        self.given_labels: list[tuple[StoredLabel, Retraction | None]] = []  # the newest first
        self.labelled: dict[int, Example] = {}  # by version
        self.copies: dict[int, Tenant] = {}
        self.similar: SimilarLabels = SimilarLabels([], 0, 0, 0)  # what is found for every example
        self.similar_asked: list[tuple[str, Example, int, str]] = []
        self.what_ifs: list[tuple[str, WhatIf, Caller | None]] = []
        self.comparison: Comparison | None = None  # what every what-if finds
        self.retractions: list[tuple[str, LabelFilter, Asked, bool]] = []

    def held(self, name: str, /) -> Tenant | None:
        if self.broken:
            raise self.broken
        return self.tenants.get(name)

    async def hold(self, name: str, *, create: bool = True) -> Tenant:
        self.reach()
        if name not in self.tenants:
            if not (create and self.auto_create):
                raise TenantUnknown(name)
            self.put(name, TenantState())
        return self.tenants[name]

    async def configure(self, name: str, changes: Mapping[str, Value]) -> Tenant:
        self.reach()
        state = self.tenants[name].state if name in self.tenants else TenantState()
        if state.config.changed(changes).values != state.config.values:  # without a change there is no event
            apply(state, TenantConfigured(changes))
        return self.tenants.get(name) or self.put(name, state)

    async def delete(self, name: str, *, purge: bool = False) -> None:
        self.reach()
        tenant = self.tenants.pop(name, None)
        if tenant is None:
            raise TenantUnknown(name)
        if not purge:
            self.deleted_tenants[f"{name}-{len(self.deleted_tenants)}"] = tenant

    async def deleted(self, name: str) -> list[DeletedTenant]:
        self.reach()
        found = [each for each, tenant in self.deleted_tenants.items() if tenant.name == name]
        return [DeletedTenant(each, self.deleted_tenants[each].state.version, 5, 6) for each in reversed(found)]

    async def restore(self, name: str, incarnation: str | None = None) -> Tenant:
        if name in self.tenants:
            raise TenantExists(name)
        found = [each.incarnation for each in await self.deleted(name) if incarnation in {None, each.incarnation}]
        if not found:
            raise NothingDeleted(name, incarnation)
        self.tenants[name] = self.deleted_tenants.pop(found[0])
        return self.tenants[name]

    async def listed(self, after: str, limit: int, within: Sequence[str] = ("*",)) -> list[ListedTenant]:
        self.reach()
        names = [
            name for name in sorted(self.tenants) if name > after and any(fnmatchcase(name, each) for each in within)
        ]
        return [ListedTenant(name, self.tenants[name].state.version, loaded=True) for name in names[:limit]]

    async def snapshot(self, name: str) -> SnapshotTaken:
        state = (await self.hold(name, create=False)).state
        return SnapshotTaken(state.version, state.digest, chunks=2, written=1, bytes=1000)

    async def retract(self, name: str, wanted: LabelFilter, asked: Asked, *, dry_run: bool) -> Retracted:
        tenant = await self.hold(name, create=False)
        self.retractions.append((name, wanted, asked, dry_run))
        accuracy = Accuracy.of(tenant.state)
        return Retracted(tenant.state.version, [], 0, 0, accuracy, accuracy)

    async def labels(
        self, name: str, wanted: LabelFilter, before: int | None = None
    ) -> AsyncIterator[tuple[StoredLabel, Retraction | None]]:
        await self.hold(name, create=False)
        return _fitting(self.given_labels, wanted, before)

    async def timeline(self, name: str, since: int | None, until: int, periods: int) -> Timeline:
        state = (await self.hold(name, create=False)).state
        return timeline_from(reversed(self.given_labels), state, since, until, periods)

    async def labelled_example(self, name: str, version: int) -> Example | None:
        await self.hold(name, create=False)
        return self.labelled.get(version)

    async def similar_labels(self, name: str, example: Example, limit: int, but: str) -> SimilarLabels:
        await self.hold(name, create=False)
        self.similar_asked.append((name, example, limit, but))
        return self.similar

    async def as_of(self, name: str, version: int) -> Tenant | None:
        await self.hold(name, create=False)
        return self.copies.get(version)

    async def what_if(self, name: str, asked: WhatIf, caller: Caller | None = None) -> Comparison:
        tenant = await self.hold(name, create=False)
        model = await self.hold(asked.model_of or name, create=False)
        config = model.state.config.changed(asked.settings)
        self.what_ifs.append((name, asked, caller))
        judged = Side(tenant.state.config.values, Confusion(0, 0, 0, 0))
        version = tenant.state.version
        return self.comparison or Comparison(0, version, judged, replace(judged, config=config.values), 0, 0, 0, [])

    async def export(self, name: str, *, has_log: bool = False) -> AsyncGenerator[bytes, None]:
        self.exported_with_log = has_log
        return _one_by_one([bytes(piece) for piece in dump((await self.hold(name, create=False)).state)])

    async def imported(self, name: str, data: bytes, *, replace: bool) -> Tenant:
        state = load(data)
        self.reach()
        if name in self.tenants and not replace:
            raise TenantExists(name)
        return self.put(name, state)

    def ready(self) -> Readiness:
        parts = {"redis": Part(self.trouble is None, self.trouble or "in contact")}
        if self.damaged:
            parts["tenants"] = Part(ok=True, detail=f"damaged: {self.damaged}", public="some are damaged")
        return Readiness(self.trouble is None, parts)

    def put(self, name: str, state: TenantState) -> Tenant:
        tenant = FakeTenant(name, state, Position("incarnation", state.version, "incarnation"))
        tenant.feedback_writer = self.feedback_writer
        self.tenants[name] = tenant
        return tenant

    def reach(self) -> None:
        if self.trouble:
            raise StoreUnavailable(self.trouble)


async def _fitting(
    given: Sequence[tuple[StoredLabel, Retraction | None]], wanted: LabelFilter, before: int | None
) -> AsyncIterator[tuple[StoredLabel, Retraction | None]]:
    for label, retraction in given:
        if wanted.fits(label) and (before is None or label.version < before):
            yield label, retraction


class FakeTenant(Tenant):
    """A tenant whose feedback goes to a fake instead of the log."""

    feedback_writer: "FakeFeedbackWriter"

    async def give(
        self, feedback: Sequence[Feedback], caller: Caller | None = None
    ) -> list[FeedbackResult | SluiceError]:
        del caller  # nothing takes long here
        return await self.feedback_writer.give(self, feedback)

    async def earlier_answer(
        self, feedback_id: str, label: int, caller: Caller | None = None
    ) -> tuple[FeedbackResult, Served | None] | None:
        del caller
        return await self.feedback_writer.earlier_answer(self, feedback_id, label)


class FakeFeedbackWriter:
    """Learns at once, and knows every feedback_id. `calls` has the size of each call."""

    def __init__(self, tenants: FakeTenants) -> None:
        self._tenants = tenants
        self._given: dict[tuple[str, str], tuple[int, FeedbackResult]] = {}
        self._names = count(1)
        self.calls: list[int] = []
        self.received: list[Feedback] = []

    async def give(self, tenant: Tenant, feedback: Sequence[Feedback]) -> list[FeedbackResult | SluiceError]:
        self._tenants.reach()
        self.calls.append(len(feedback))
        self.received += feedback
        return [self._one(tenant, each) for each in feedback]

    async def earlier_answer(
        self, tenant: Tenant, feedback_id: str, label: int
    ) -> tuple[FeedbackResult, Served | None] | None:
        self._tenants.reach()
        before, first = self._given.get((tenant.name, feedback_id), (label, None))
        if before != label:
            raise FeedbackConflict(feedback_id)
        return (FeedbackResult(feedback_id, first.outcome, duplicate=True), None) if first else None

    def _one(self, tenant: Tenant, feedback: Feedback) -> FeedbackResult | SluiceError:
        feedback_id = feedback.feedback_id or f"made-{next(self._names)}"
        label, first = self._given.get((tenant.name, feedback_id), (feedback.label, None))
        if label != feedback.label:
            return FeedbackConflict(feedback_id)
        if first is not None:
            return FeedbackResult(feedback_id, first.outcome, duplicate=True)
        outcome = advance(tenant.state, FeedbackGiven(feedback.example, feedback.label, feedback.served))
        given = FeedbackResult(feedback_id, outcome, duplicate=False)
        self._given[tenant.name, feedback_id] = (label, given)
        return given


async def _one_by_one(pieces: Sequence[bytes]) -> AsyncGenerator[bytes, None]:
    for piece in pieces:
        yield piece
