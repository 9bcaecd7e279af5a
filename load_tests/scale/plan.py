"""From what was measured to a billion predictions a day: how many workers, how many shards, and what they cost.

Pure functions of what is assumed (`Demand`, `Choices`, `Prices`) and what was measured (`UnitCosts`).
"""

import math
from dataclasses import dataclass

import numpy as np

from app.tenants.kept_predictions import WRITE_SECONDS
from kernels.arrays import Floats
from load_tests.scale.assumptions import DAY_SECONDS, GIB, Choices, Demand, Prices, UnitCosts
from load_tests.scale.shards import MOST, Need, Popularity, shards_for

MEMORY, PROCESSOR, WRITES = "memory", "processor", "durable writes"
MOST_TENANTS = 10_000_000  # that SLUICE_MAX_TENANTS can be set to
MONTH_HOURS = 730.0
FILES = 3.0  # the append-only file is rewritten when it has doubled, beside the old one


@dataclass(frozen=True, slots=True)
class Plan:
    """An installation, at its peak."""

    demand: Demand
    choices: Choices
    workers: int
    worker_cores: dict[str, float]  # busy in all of them together, by what
    worker_bytes: float  # of each
    following: float  # cores of each worker
    loads: float  # of tenants, per second
    hottest_cores: float  # that the hottest tenant takes of workers
    hottest_writes: float  # and of a store's time for writes
    store_bytes: dict[str, float]  # in all shards together, by what
    store_cores: dict[str, float]
    needs: dict[str, Need]  # of stores, by what they are needed for
    shards: int | None  # None if no number is enough
    disk_bytes_per_day: dict[str, float]  # written
    wire_bytes: float  # per second between clients and workers


def plan(costs: UnitCosts, demand: Demand, choices: Choices, popularity: Popularity) -> Plan:
    """What is needed at the peak."""
    loads = demand.predictions * popularity.misses(choices.held * demand.tenants)
    snapshots = popularity.distinct(demand.labels * choices.snapshot_seconds) / choices.snapshot_seconds
    cores = {
        "predictions": demand.predictions * (costs.predict if choices.keep else costs.not_kept).workers,
        "labels": demand.labels * costs.label.workers,
        "snapshots": snapshots * costs.snapshot.workers,
        "loading tenants": loads * costs.load.workers,
    }
    follows = costs.following.workers + demand.labels * costs.follow_seconds
    workers = workers_for(sum(cores.values()), follows, choices.used)
    asked = {
        "kept predictions": choices.keep * demand.predictions * costs.predict.store,
        "labels": demand.labels * costs.label.store,
    }
    even = {
        "loading tenants": loads * costs.load.store,
        "telling all workers": workers * costs.following.store,
    }
    # Feeds are read evenly, and the tenants that are loaded are not the popular ones; the rest goes with requests.
    busy = sum(asked.values()) * popularity.shares + sum(even.values()) / popularity.shares.size
    stored = bytes_by_tenant(costs, demand, choices, popularity)
    writes = writes_by_tenant(costs, demand, choices, popularity)
    memory, room = np.sum(list(stored.values()), axis=0), choices.used * choices.shard_bytes
    needs = {
        MEMORY: Need(float(memory.sum()) / room, popularity.by_tag(memory)),
        PROCESSOR: Need(sum((asked | even).values()) / choices.used, popularity.by_tag(busy)),
        WRITES: Need(float(writes.sum()) / choices.used, popularity.by_tag(writes)),
    }
    return Plan(
        demand=demand,
        choices=choices,
        workers=workers,
        worker_cores=cores | {"following all labels": workers * follows},
        worker_bytes=costs.worker_bytes + choices.held * demand.tenants * costs.tenant_bytes.workers / workers,
        following=follows,
        loads=loads,
        hottest_cores=popularity.hottest * (cores["predictions"] + cores["labels"]),
        hottest_writes=float(writes[0]),
        store_bytes={kind: float(some.sum()) for kind, some in stored.items()},
        store_cores=asked | even,
        needs=needs,
        shards=shards_for(needs.values()),
        disk_bytes_per_day={
            "kept predictions": choices.keep * demand.predictions_per_day * costs.kept_disk_bytes,
            "labels": demand.labels_per_day * costs.label_disk_bytes,
            "snapshots": DAY_SECONDS * snapshots * costs.snapshot_disk_bytes,
        },
        wire_bytes=(demand.predictions + demand.labels) * (costs.request_bytes + costs.answer_bytes),
    )


def workers_for(cores: float, follows: float, used: float) -> int:
    """So many that each is busy with no more than its share; ValueError if following alone is more."""
    if follows >= used:
        raise ValueError(f"following takes {follows:.2f} of each worker, and {used:.2f} are to be used at most")
    return max(math.ceil(cores / (used - follows)), 1)


def bytes_by_tenant(costs: UnitCosts, demand: Demand, choices: Choices, popularity: Popularity) -> dict[str, Floats]:
    """Memory of the store, by what for: what is kept of the busiest tenants is limited."""
    shares, days = popularity.shares, max(choices.kept_seconds / DAY_SECONDS, 1.0)
    # Within the time for which they are kept: the busiest hours, but no more than days have.
    predictions = min(choices.kept_seconds * demand.predictions, days * demand.predictions_per_day)
    events = np.minimum(demand.labels_per_day * choices.log_days * shares, choices.retained_events)
    kept = np.minimum(choices.keep * predictions * shares, choices.kept_of_each)
    return {
        "snapshots": np.full(shares.size, costs.tenant_bytes.store),
        "logs": events * costs.event_bytes,
        "kept predictions": kept * costs.kept_bytes,
    }


def writes_by_tenant(costs: UnitCosts, demand: Demand, choices: Choices, popularity: Popularity) -> Floats:
    """The share of a store's time that a tenant's durable writes take at the peak.

    Predictions of a tenant within a moment are written as one block: the busiest are cheaper than they look.
    """
    labels, kept = demand.labels * popularity.shares, choices.keep * demand.predictions * popularity.shares
    blocks = -np.expm1(-kept * WRITE_SECONDS) / WRITE_SECONDS
    found: Floats = (
        labels * costs.label_write_seconds + blocks * costs.block_write_seconds + kept * costs.kept_write_seconds
    )
    return found


def limits(made: Plan) -> dict[str, float]:
    """How much of what is used at the peak, the tightest first. Where no number of shards is enough, there are 256."""
    choices, follows, shards = made.choices, made.following, made.shards or MOST
    requests = sum(made.worker_cores.values()) / made.workers - follows
    found = {
        "the processor of the fullest worker": follows + choices.balance * requests,
        **{f"the fullest shard's {what}": choices.used * need.fullest(shards) for what, need in made.needs.items()},
        f"shards, of the {MOST} that there can be": shards / MOST,
        f"tenants, of the {MOST_TENANTS:,} that may be allowed": made.demand.tenants / MOST_TENANTS,
        "a worker, by the hottest tenant alone": made.hottest_cores,
        "every worker, by following all labels": follows,
    }
    return dict(sorted(found.items(), key=lambda limit: -limit[1]))


def ceilings(made: Plan, costs: UnitCosts) -> dict[str, float]:
    """By how many times requests could grow until more machines no longer help, the lowest first."""
    rates = [need.fullest(MOST) for what, need in made.needs.items() if what != MEMORY]
    room = made.choices.used - costs.following.workers
    found = {
        f"the fullest of {MOST} shards has no core or disk left": 1.0 / max(rates),
        "the writes of the hottest tenant fill its shard": made.choices.used / made.hottest_writes,
        "following all labels fills every worker": room / (made.demand.labels * costs.follow_seconds),
    }
    return dict(sorted(found.items(), key=lambda each: each[1]))


def bill(made: Plan, prices: Prices) -> dict[str, tuple[float, float]] | None:
    """Amounts and what they cost in a month, in dollars; None for a plan that is impossible."""
    if made.shards is None:
        return None
    stores, copies = made.shards * made.choices.copies, made.choices.copies
    hours = {
        "cores of workers": (made.workers, prices.core_hour),
        "GiB of memory of workers": (made.workers * made.worker_bytes / GIB, prices.gib_hour),
        f"cores of stores, {prices.store_cores} each": (stores * prices.store_cores, prices.core_hour),
        "GiB of memory of stores": (stores * made.choices.shard_bytes / GIB, prices.gib_hour),
    }
    disk = FILES * copies * sum(made.store_bytes.values()) / GIB
    found = {what: (amount, MONTH_HOURS * amount * price) for what, (amount, price) in hours.items()}
    return found | {"GiB of their disks": (disk, disk * prices.disk_gib_month)}
