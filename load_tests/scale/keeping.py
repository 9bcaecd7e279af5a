"""What the tenants take of the store, each by itself: memory, and the time of durable writes."""

import numpy as np

from app.tenants.kept_predictions import WRITE_SECONDS
from kernels.arrays import Floats
from load_tests.scale.assumptions import DAY_SECONDS, Choices, Demand
from load_tests.scale.costs import Costs
from load_tests.scale.popularity import Popularity


def bytes_by_tenant(costs: Costs, demand: Demand, choices: Choices, popularity: Popularity) -> dict[str, Floats]:
    """Of memory, by what for: what is kept of the busiest tenants is limited."""
    shares = popularity.shares
    events = np.minimum(demand.labels_per_day * choices.log_days * shares, choices.retained_events)
    kept = np.minimum(choices.keeping * _asked(demand, choices) * shares, choices.kept_of_each)
    return {
        "snapshots": np.full(shares.size, costs.store_tenant_bytes),
        "logs": events * costs.store_event_bytes,
        "kept predictions": kept * costs.store_kept_bytes,
    }


def writing_by_tenant(costs: Costs, demand: Demand, choices: Choices, popularity: Popularity) -> Floats:
    """The share of a store's time that a tenant's durable writes take at the peak.

    What a tenant is asked within a moment is written as one block: the busiest are cheaper than they look.
    """
    labels = demand.labels * popularity.shares
    asked = choices.keeping * demand.predictions * popularity.shares
    blocks = -np.expm1(-asked * WRITE_SECONDS) / WRITE_SECONDS
    found: Floats = (
        labels * costs.label_writing_seconds + blocks * costs.block_writing_seconds + asked * costs.kept_writing_seconds
    )
    return found


def _asked(demand: Demand, choices: Choices) -> float:
    """Predictions within the time for which they are kept: the busiest hours, but no more than days have."""
    days = max(choices.kept_seconds / DAY_SECONDS, 1.0)
    return min(choices.kept_seconds * demand.predictions, days * demand.predictions_per_day)
