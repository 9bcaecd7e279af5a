"""Readings: the state of a worker and its tenants at one moment, as gauges show it."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rates:
    """Accuracy over one set of verdicts; None where it is undefined."""

    verdict: str
    window: str
    balanced_accuracy: float | None
    sensitivity: float | None
    specificity: float | None


@dataclass(frozen=True, slots=True)
class DriftReading:
    """The drift detector of one class."""

    label: str
    worse: int
    better: int
    labels: int
    error: float | None


@dataclass(frozen=True, slots=True)
class HonestReading:
    """A rate of all items, from the labels of chosen ones, with its interval."""

    rate: str
    window: str
    value: float
    low: float
    high: float
    labels: float  # the effective number


@dataclass(frozen=True, slots=True)
class TargetReading:
    """A target, and what was realised lately."""

    name: str
    value: float
    realised: float | None


@dataclass(frozen=True, slots=True)
class TenantReading:
    """A tenant in memory."""

    name: str
    rates: Sequence[Rates]
    honest: Sequence[HonestReading]
    target: TargetReading | None
    threshold: float
    drifts: Sequence[DriftReading]
    is_poor: bool | None  # None while there are too few labels
    rebuilding: float | None  # the share that is done, while labels are taken back
    version: int
    features: int
    nonzero_weights: int | None
    memory_bytes: int
    log_lag_events: int
    log_lag_seconds: float
    snapshot_lag_events: int
    snapshot_age_seconds: float
    pending_predictions: int | None
    review_waiting: int | None = None
    review_leased: int | None = None
    review_oldest_age_seconds: float | None = None

    @property
    def sparsity(self) -> float | None:
        """Return the share of features without a weight."""
        if not self.features or self.nonzero_weights is None:
            return None
        return max(0.0, 1.0 - self.nonzero_weights / self.features)  # features may have been added since the survey


@dataclass(frozen=True, slots=True)
class WorkerReading:
    """A worker."""

    store_up: bool
    store_contact_age_seconds: float
    store_unsafe: bool
    store_write_refused: bool
    tenants_held: int
    tenants_memory_bytes: int
    tenants_damaged: int
    pending_waiting_bytes: int
    pending_bytes: int
    pending_limit_bytes: int
    store_memory_bytes: int | None  # of the fullest node; None if no node has a limit
    store_memory_limit_bytes: int | None
    tenants: Sequence[TenantReading]
