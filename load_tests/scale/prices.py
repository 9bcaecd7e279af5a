"""What an installation costs in a month, at prices that are assumed."""

from dataclasses import dataclass

from load_tests.scale.assumptions import GIB
from load_tests.scale.plan import Plan

HOURS = 730.0  # of a month
FILES = 3.0  # the append-only file is written anew when it has doubled, beside the old one


@dataclass(frozen=True, slots=True)
class Prices:
    """An example in dollars, of the order of what clouds ask; traffic and people are not in it."""

    core_hour: float = 0.03
    gib_hour: float = 0.004
    disk_gib_month: float = 0.10
    store_cores: int = 2  # of a shard's machine: one serves, one writes files anew


@dataclass(frozen=True, slots=True)
class Bill:
    """Of a month."""

    worker_cores: float
    worker_gib: float
    store_cores: float
    store_gib: float
    disk_gib: float
    dollars: float


def bill(made: Plan, prices: Prices) -> Bill | None:
    """What a plan takes; None for one that cannot be."""
    if made.shards is None:
        return None
    stores = made.shards * made.choices.copies
    worker_gib, store_gib = made.workers * made.worker_bytes / GIB, stores * made.choices.shard_bytes / GIB
    disk_gib = FILES * made.choices.copies * sum(made.store_bytes.values()) / GIB
    store_cores = float(stores * prices.store_cores)
    dollars = (
        HOURS * (prices.core_hour * (made.workers + store_cores) + prices.gib_hour * (worker_gib + store_gib))
        + prices.disk_gib_month * disk_gib
    )
    return Bill(float(made.workers), worker_gib, store_cores, store_gib, disk_gib, dollars)
