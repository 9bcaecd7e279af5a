"""How much is measured, in earnest and for a trial."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sizes:
    """Of every measurement."""

    rounds: int
    route_seconds: float
    starts: int
    features: int  # of the large tenant
    tail_events: int
    traffic_seconds: float
    traffic_rounds: int
    tenants: int
    features_of_each: int = 1000


WHOLE = Sizes(
    rounds=5,
    route_seconds=1.5,
    starts=3,
    features=1_000_000,
    tail_events=10_000,
    traffic_seconds=5.0,
    traffic_rounds=3,
    tenants=10_000,
)
QUICK = Sizes(
    rounds=1,
    route_seconds=0.5,
    starts=1,
    features=100_000,
    tail_events=1000,
    traffic_seconds=2.0,
    traffic_rounds=1,
    tenants=300,
)
