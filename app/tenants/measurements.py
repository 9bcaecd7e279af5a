"""Measurements of a worker and its tenants for /metrics."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from app.learning.drift import ClassDrift
from app.learning.honest.curve import TargetFigures, target_of
from app.learning.honest.figures import figures
from app.learning.parts.confusion import Confusion
from app.learning.prequential import WINDOW
from app.learning.state import TenantState
from app.storage.client.durability import StoreStatus
from app.storage.errors import StoreUnavailable
from app.storage.review.queue import QueueCounts, ReviewQueueStore
from app.telemetry.counters import TenantCounters
from app.telemetry.readings import DriftReading, HonestReading, Rates, TargetReading, TenantReading, WorkerReading
from app.tenants.cache import TenantCache
from app.tenants.log_follower import LogFollower
from app.tenants.predictions.kept_predictions import KeptPredictions
from app.tenants.predictions.prediction_budget import PredictionBudget
from app.tenants.recovery import TenantLoader
from app.tenants.tenant import Tenant
from kernels.evaluation.skill import UNKNOWN

SURVEY_SECONDS = 60.0  # between two surveys of all rows of a model, during which feedback waits
STORE_SECONDS = 0.5  # for the store to answer; without it the other metrics are still returned
SURVEYS_SECONDS = 0.25  # for all surveys of one reading


@dataclass(frozen=True, slots=True)
class Survey:
    """The number of features with a weight, at one version."""

    incarnation: str
    version: int
    at: float
    nonzero: int


@dataclass(slots=True)
class Measurements:
    """Measures the worker, and the tenants in memory that are exported by name."""

    cache: TenantCache
    loader: TenantLoader
    follower: LogFollower
    kept_predictions: KeptPredictions
    budget: PredictionBudget
    counters: TenantCounters
    store: StoreStatus
    review: ReviewQueueStore | None = None
    _surveys: dict[str, Survey] = field(default_factory=dict)

    async def read(self) -> WorkerReading:
        """Return the readings of this moment, without those from the store while it is unavailable."""
        held = self.cache.tenants
        named = [held[name] for name in self.counters.named() if name in held]
        await self._survey(named)
        kept = await self._kept([tenant.name for tenant in named])
        queues = await self._queues([tenant.name for tenant in named])
        return WorkerReading(
            store_up=self.follower.trouble is None and self.follower.part_trouble is None,
            store_contact_age_seconds=time.monotonic() - self.follower.contact_at,
            store_unsafe=self.follower.trouble is None and self.store.refusal is not None,
            store_write_refused=self.store.write_failure is not None,
            tenants_held=len(held),
            tenants_memory_bytes=self.cache.bytes,
            tenants_damaged=len(self.loader.damaged),
            pending_waiting_bytes=self.kept_predictions.waiting_bytes,
            pending_bytes=self.budget.kept_bytes,
            pending_limit_bytes=self.budget.limit_bytes,
            store_memory_bytes=self.budget.memory.used if self.budget.memory.limit else None,
            store_memory_limit_bytes=self.budget.memory.limit or None,
            tenants=[self._tenant(*each) for each in zip(named, kept, queues, strict=True)],
        )

    def _tenant(self, tenant: Tenant, kept: int | None, queue: QueueCounts | None) -> TenantReading:
        state, now, survey = tenant.state, time.monotonic(), self._surveys.get(tenant.name)
        behind = max(0, tenant.known_version - state.version)
        drift = state.drift
        return TenantReading(
            name=tenant.name,
            rates=_rates(state),
            honest=_honest(state),
            target=None if (target := target_of(state)) is None else _target(target),
            threshold=state.model.threshold,
            is_poor=_is_poor(state),
            rebuilding=tenant.rebuilding.share if tenant.rebuilding else None,
            drifts=[_drift("anomaly", drift.anomaly), _drift("normal", drift.normal)],
            version=state.version,
            features=state.model.features,
            nonzero_weights=survey.nonzero if survey and survey.incarnation == tenant.incarnation else None,
            memory_bytes=state.bytes,
            log_lag_events=behind,
            log_lag_seconds=now - tenant.behind_since if behind else 0.0,
            snapshot_lag_events=max(0, state.version - tenant.snapshot_version),
            snapshot_age_seconds=now - tenant.snapshot_at,
            pending_predictions=kept,
            review_waiting=queue.changes.waiting if queue else None,
            review_leased=queue.changes.leased if queue else None,
            review_oldest_age_seconds=queue.oldest_age_seconds if queue else None,
        )

    async def _kept(self, names: Sequence[str]) -> Sequence[int | None]:
        if names and self.follower.trouble is None:
            with suppress(StoreUnavailable, TimeoutError):
                return await asyncio.wait_for(self.kept_predictions.counts(names), STORE_SECONDS)
        return [None] * len(names)

    async def _queues(self, names: Sequence[str]) -> Sequence[QueueCounts | None]:
        if names and self.review is not None and self.follower.trouble is None:
            with suppress(StoreUnavailable, TimeoutError):
                found = await asyncio.wait_for(self.review.counts(names), STORE_SECONDS)
                self._count(names, found)
                return [each if isinstance(each, QueueCounts) else None for each in found]
        return [None] * len(names)

    def _count(self, names: Sequence[str], found: Sequence[QueueCounts | BaseException]) -> None:
        """Count leases that had ended and items that had left a queue when it was counted."""
        for name, each in zip(names, found, strict=True):
            if isinstance(each, QueueCounts):
                self.counters.of(name).reviewed("expired", each.changes.expired)
                self.counters.of(name).reviewed("dropped", each.changes.dropped)

    async def _survey(self, tenants: Sequence[Tenant]) -> None:
        """Survey the models that have changed, the oldest survey first, as far as time allows."""
        end = time.monotonic() + SURVEYS_SECONDS
        self._surveys = {tenant.name: self._surveys[tenant.name] for tenant in tenants if tenant.name in self._surveys}
        for tenant in sorted(filter(self._is_due, tenants), key=self._surveyed_at):
            if time.monotonic() > end:
                return
            await self._survey_one(tenant)

    def _is_due(self, tenant: Tenant) -> bool:
        survey = self._surveys.get(tenant.name)
        if survey is None or survey.incarnation != tenant.incarnation:
            return True
        return survey.version != tenant.state.version and time.monotonic() - survey.at >= SURVEY_SECONDS

    def _surveyed_at(self, tenant: Tenant) -> float:
        survey = self._surveys.get(tenant.name)
        return survey.at if survey else 0.0

    async def _survey_one(self, tenant: Tenant) -> None:
        if tenant.lock.locked():  # by a snapshot or a repair, which may take long: try next time
            return
        async with tenant.lock:
            nonzero = await asyncio.to_thread(_nonzero, tenant.state)
            self._surveys[tenant.name] = Survey(tenant.incarnation, tenant.state.version, time.monotonic(), nonzero)


def _nonzero(state: TenantState) -> int:
    return int(np.count_nonzero(state.model.survey().weights))


def _is_poor(state: TenantState) -> bool | None:
    return None if state.skill == UNKNOWN else state.is_poor


def _rates(state: TenantState) -> list[Rates]:
    counts = state.prequential
    return [
        _rate("model", "lifetime", counts.lifetime),
        _rate("model", f"last_{WINDOW}", counts.recent),
        _rate("served", "lifetime", counts.served),
    ]


def _rate(verdict: str, window: str, counts: Confusion) -> Rates:
    return Rates(verdict, window, counts.balanced_accuracy, counts.sensitivity, counts.specificity)


def _honest(state: TenantState) -> list[HonestReading]:
    """Return the rates that are known."""
    if state.prequential.honest.sums is None:
        return []
    found = figures(state.prequential.honest)
    return [
        HonestReading(name, window, rate.value, rate.low, rate.high, rate.labels)
        for window, rates in (("lifetime", found.ever), ("lately", found.lately))
        for name in ("balanced_accuracy", "sensitivity", "specificity")
        if (rate := getattr(rates, name)).value is not None
    ]


def _target(found: TargetFigures) -> TargetReading:
    return TargetReading(found.name, found.value, found.realised.value)


def _drift(label: str, drift: ClassDrift) -> DriftReading:
    return DriftReading(label, drift.worse, drift.better, drift.labels, drift.error)
