"""What the parts of a worker say when they are asked how they are."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rates:
    """Accuracy of some verdicts; None where it is not defined."""

    verdict: str
    window: str
    balanced_accuracy: float | None
    sensitivity: float | None
    specificity: float | None


@dataclass(frozen=True, slots=True)
class DriftOfClass:
    """What the change detector of one class says."""

    label: str
    worse: int
    better: int
    labels: int
    error: float | None


@dataclass(frozen=True, slots=True)
class TenantReading:
    """A tenant in memory, at one moment."""

    name: str
    rates: Sequence[Rates]
    drifts: Sequence[DriftOfClass]
    version: int
    features: int
    nonzero_weights: int | None
    memory_bytes: int
    log_lag_events: int
    log_lag_seconds: float
    snapshot_lag_events: int
    snapshot_age_seconds: float
    pending_predictions: int | None

    @property
    def sparsity(self) -> float | None:
        """Share of features without a weight."""
        if not self.features or self.nonzero_weights is None:
            return None
        return max(0.0, 1.0 - self.nonzero_weights / self.features)  # features may have come since the last look


@dataclass(frozen=True, slots=True)
class WorkerReading:
    """A worker, at one moment."""

    store_up: bool
    store_contact_age_seconds: float
    tenants_held: int
    tenants_memory_bytes: int
    tenants_damaged: int
    pending_waiting_bytes: int
    tenants: Sequence[TenantReading]
