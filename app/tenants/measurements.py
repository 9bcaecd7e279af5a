"""How a worker and its tenants are, in numbers, for whoever watches them."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from app.learning.drift import ClassDrift
from app.learning.prequential import WINDOW, Confusion
from app.learning.state import TenantState
from app.storage.errors import StoreUnavailable
from app.telemetry.readings import DriftOfClass, Rates, TenantReading, WorkerReading
from app.telemetry.tenant_counters import TenantWatches
from app.tenants.cache import Holding
from app.tenants.kept_predictions import Pending
from app.tenants.log_follower import Follower
from app.tenants.tenant import Tenant

SURVEY_SECONDS = 60.0  # between two looks at every row of a model, for which feedback has to wait
STORE_SECONDS = 0.5  # for the store to answer: whoever asks for metrics has little patience, and wants the others
SURVEYS_SECONDS = 0.25  # of all that one reading may spend on them


@dataclass(frozen=True, slots=True)
class Survey:
    """How many features had a weight, at one version."""

    born: str
    version: int
    at: float
    nonzero: int


@dataclass(slots=True)
class Measuring:
    """Reads the tenants in memory that are told by name."""

    holding: Holding
    follower: Follower
    pending: Pending
    watches: TenantWatches
    _surveys: dict[str, Survey] = field(default_factory=dict)

    async def read(self) -> WorkerReading:
        """All readings of this moment; what the store would have to say is left out while it is away."""
        held = self.holding.tenants
        named = [held[name] for name in self.watches.named() if name in held]
        await self._survey(named)
        kept = await self._kept([tenant.name for tenant in named])
        return WorkerReading(
            store_up=self.follower.trouble is None and self.follower.part_trouble is None,
            store_contact_age_seconds=time.monotonic() - self.follower.contact_at,
            tenants_held=len(self.holding.tenants),
            tenants_memory_bytes=self.holding.bytes,
            tenants_damaged=len(self.holding.damaged),
            pending_waiting_bytes=self.pending.waiting_bytes,
            tenants=[self._tenant(tenant, count) for tenant, count in zip(named, kept, strict=True)],
        )

    def _tenant(self, tenant: Tenant, kept: int | None) -> TenantReading:
        state, now, survey = tenant.state, time.monotonic(), self._surveys.get(tenant.name)
        behind = max(0, tenant.heard - state.version)
        drift = state.drift
        return TenantReading(
            name=tenant.name,
            rates=_rates(state),
            drifts=[_drift("anomaly", drift.anomaly), _drift("normal", drift.normal)],
            version=state.version,
            features=state.model.features,
            nonzero_weights=survey.nonzero if survey and survey.born == tenant.born else None,
            memory_bytes=state.bytes,
            log_lag_events=behind,
            log_lag_seconds=now - tenant.behind_since if behind else 0.0,
            snapshot_lag_events=max(0, state.version - tenant.snapshot_version),
            snapshot_age_seconds=now - tenant.snapshot_at,
            pending_predictions=kept,
        )

    async def _kept(self, names: Sequence[str]) -> Sequence[int | None]:
        if names and self.follower.trouble is None:
            with suppress(StoreUnavailable, TimeoutError):
                return await asyncio.wait_for(self.pending.counts(names), STORE_SECONDS)
        return [None] * len(names)

    async def _survey(self, tenants: Sequence[Tenant]) -> None:
        """Look at the models that have changed, the longest ago first, as far as the time allows."""
        end = time.monotonic() + SURVEYS_SECONDS
        self._surveys = {tenant.name: self._surveys[tenant.name] for tenant in tenants if tenant.name in self._surveys}
        for tenant in sorted(filter(self._is_due, tenants), key=self._surveyed_at):
            if time.monotonic() > end:
                return
            await self._look_at(tenant)

    def _is_due(self, tenant: Tenant) -> bool:
        survey = self._surveys.get(tenant.name)
        if survey is None or survey.born != tenant.born:
            return True
        return survey.version != tenant.state.version and time.monotonic() - survey.at >= SURVEY_SECONDS

    def _surveyed_at(self, tenant: Tenant) -> float:
        survey = self._surveys.get(tenant.name)
        return survey.at if survey else 0.0

    async def _look_at(self, tenant: Tenant) -> None:
        if tenant.lock.locked():  # a snapshot or a repair is under way, which may take long: next time
            return
        async with tenant.steady():
            nonzero = await asyncio.to_thread(_nonzero, tenant.state)
            self._surveys[tenant.name] = Survey(tenant.born, tenant.state.version, time.monotonic(), nonzero)


def _nonzero(state: TenantState) -> int:
    return int(np.count_nonzero(state.model.survey().weights))


def _rates(state: TenantState) -> list[Rates]:
    counts = state.prequential
    return [
        _rate("model", "lifetime", counts.lifetime),
        _rate("model", f"last_{WINDOW}", counts.recent),
        _rate("served", "lifetime", counts.served),
    ]


def _rate(verdict: str, window: str, counts: Confusion) -> Rates:
    return Rates(verdict, window, counts.balanced_accuracy, counts.sensitivity, counts.specificity)


def _drift(label: str, drift: ClassDrift) -> DriftOfClass:
    return DriftOfClass(label, drift.worse, drift.better, drift.labels, drift.error)
