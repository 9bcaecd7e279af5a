"""How large the simulation is, in earnest and for a trial."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sizes:
    """Of every step."""

    tenants: int
    labels_each: int  # that a tenant begins with
    idle_seconds: float  # of looking at what following costs
    traffic_seconds: float  # before and after something is done under traffic
    hot_labels: int
    sample: int  # tenants that are loaded from nothing at the end


WHOLE = Sizes(tenants=2000, labels_each=8, idle_seconds=5.0, traffic_seconds=3.0, hot_labels=200, sample=100)
QUICK = Sizes(tenants=200, labels_each=4, idle_seconds=1.0, traffic_seconds=0.5, hot_labels=20, sample=40)
