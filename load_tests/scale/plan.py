"""From what was measured to a billion predictions a day: how many workers, how many shards.

Pure functions of what is assumed (`Demand`, `Choices`) and what was measured (`Costs`).
"""

import math
from dataclasses import dataclass

import numpy as np

from kernels.arrays import Floats
from load_tests.scale.assumptions import DAY_SECONDS, Choices, Demand
from load_tests.scale.costs import Costs
from load_tests.scale.keeping import bytes_by_tenant, writing_by_tenant
from load_tests.scale.popularity import Popularity
from load_tests.scale.shards import Need, shards_for

MEMORY, PROCESSOR, WRITES = "memory", "processor", "durable writes"
FOLLOWING = "following all labels"


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
    hottest_writing: float  # and of a store's time for writing
    store_bytes: dict[str, float]  # in all shards together, by what
    store_cores: dict[str, float]
    needs: dict[str, Need]  # of stores, by what they are needed for
    shards: int | None  # None if no number is enough
    disk_bytes_per_day: dict[str, float]  # written
    wire_bytes: float  # per second between clients and workers


def plan(costs: Costs, demand: Demand, choices: Choices, popularity: Popularity) -> Plan:
    """What is needed at the peak."""
    loads = demand.predictions * popularity.misses(choices.held * demand.tenants)
    snapshots = popularity.met(demand.labels * choices.snapshot_seconds) / choices.snapshot_seconds
    cores = _worker_cores(costs, demand, choices, loads, snapshots)
    follows = costs.following_cores + demand.labels * costs.heard_seconds
    workers = workers_for(sum(cores.values()), follows, choices.used)
    store_cores = _store_cores(costs, demand, choices, loads, workers)
    stored = bytes_by_tenant(costs, demand, choices, popularity)
    writing = writing_by_tenant(costs, demand, choices, popularity)
    memory, room = np.sum(list(stored.values()), axis=0), choices.used * choices.shard_bytes
    needs = {
        MEMORY: Need(float(memory.sum()) / room, popularity.by_tag(memory)),
        PROCESSOR: Need(sum(store_cores.values()) / choices.used, popularity.by_tag(_busy(store_cores, popularity))),
        WRITES: Need(float(writing.sum()) / choices.used, popularity.by_tag(writing)),
    }
    return Plan(
        demand=demand,
        choices=choices,
        workers=workers,
        worker_cores=cores | {FOLLOWING: workers * follows},
        worker_bytes=costs.worker_bytes + choices.held * demand.tenants * costs.tenant_bytes / workers,
        following=follows,
        loads=loads,
        hottest_cores=popularity.hottest * (cores["predictions"] + cores["labels"]),
        hottest_writing=float(writing[0]),
        store_bytes={kind: float(some.sum()) for kind, some in stored.items()},
        store_cores=store_cores,
        needs=needs,
        shards=shards_for(needs.values()),
        disk_bytes_per_day=_disk(costs, demand, choices, snapshots),
        wire_bytes=(demand.predictions + demand.labels) * (costs.request_bytes + costs.answer_bytes),
    )


def workers_for(cores: float, follows: float, used: float) -> int:
    """So many that each is busy with no more than its share; ValueError if following alone is more."""
    if follows >= used:
        raise ValueError(f"following takes {follows:.2f} of each worker, and {used:.2f} are to be used at most")
    return max(math.ceil(cores / (used - follows)), 1)


def _worker_cores(costs: Costs, demand: Demand, choices: Choices, loads: float, snapshots: float) -> dict[str, float]:
    return {
        "predictions": demand.predictions * (costs.predict_seconds if choices.keeping else costs.not_kept_seconds),
        "labels": demand.labels * costs.label_seconds,
        "snapshots": snapshots * costs.snapshot_seconds,
        "loading tenants": loads * costs.load_seconds,
    }


def _store_cores(costs: Costs, demand: Demand, choices: Choices, loads: float, workers: int) -> dict[str, float]:
    return {
        "kept predictions": choices.keeping * demand.predictions * costs.store_predict_seconds,
        "labels": demand.labels * costs.store_label_seconds,
        "loading tenants": loads * costs.store_load_seconds,
        "telling all workers": workers * costs.store_following_cores,
    }


def _busy(store_cores: dict[str, float], popularity: Popularity) -> Floats:
    """By tenant: feeds are read evenly, and who is loaded is not who is asked most; the rest goes with requests."""
    even = store_cores["telling all workers"] + store_cores["loading tenants"]
    asked = sum(store_cores.values()) - even
    found: Floats = asked * popularity.shares + even / popularity.shares.size
    return found


def _disk(costs: Costs, demand: Demand, choices: Choices, snapshots: float) -> dict[str, float]:
    return {
        "kept predictions": choices.keeping * demand.predictions_per_day * costs.kept_disk_bytes,
        "labels": demand.labels_per_day * costs.label_disk_bytes,
        "snapshots": DAY_SECONDS * snapshots * costs.snapshot_disk_bytes,
    }
