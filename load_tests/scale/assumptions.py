"""What a plan assumes: what is asked of the installation, and what its operator decides."""

from dataclasses import dataclass

DAY_SECONDS = 86_400.0
GIB = float(1 << 30)


@dataclass(frozen=True, slots=True)
class Demand:
    """What is asked of the installation."""

    predictions_per_day: float = 1e9
    tenants: int = 1_000_000
    labelled: float = 0.01  # of the predictions
    peak: float = 3.0  # the busiest hours beside the mean

    @property
    def predictions(self) -> float:
        """Per second, at the peak."""
        return self.peak * self.predictions_per_day / DAY_SECONDS

    @property
    def labels(self) -> float:
        """Per second, at the peak."""
        return self.labelled * self.predictions

    @property
    def labels_per_day(self) -> float:
        """In the mean."""
        return self.labelled * self.predictions_per_day


@dataclass(frozen=True, slots=True)
class Choices:
    """What an operator decides."""

    used: float = 0.5  # of a processor, a disk or a memory at the peak; the rest is headroom
    keeping: bool = True  # predictions, for feedback by id; otherwise feedback brings its features
    kept_seconds: float = 3600.0
    kept_of_each: int = 10_000
    held: float = 1.0  # share of the tenants that there is room for in the workers' memory
    retained_events: int = 100
    log_days: float = 365.0
    snapshot_seconds: float = 300.0
    shard_bytes: float = 64 * GIB  # memory of a store's machine
    copies: int = 2  # of every shard: the primary and a replica
    balance: float = 1.5  # the fullest worker beside the mean, which a balancer with bounded loads guarantees
