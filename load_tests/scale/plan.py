"""From what was measured to a billion predictions a day: how many workers, how many shards, and what they cost."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from app.storage.redis_keys import SHARDS
from app.tenants.predictions.kept_predictions import WRITE_SECONDS
from kernels.arrays import Floats, Ints
from load_tests.cluster.nodes import SLOT_OF_SHARD, SLOTS
from load_tests.harness.sizes import SEED
from load_tests.harness.traffic import zipf
from load_tests.scale.assumptions import DAY_SECONDS, GIB, Assumptions, UnitCosts

HALVINGS = 60
LONGEST = 1e18  # requests: by then every tenant had one
MOST = len(SHARDS)  # all keys of a tag lie in one slot, so a shard without a tag has nothing to do
MEMORY, PROCESSOR, WRITES = "memory", "processor", "durable writes"
MOST_TENANTS = 10_000_000  # that SLUICE_MAX_TENANTS can be set to
MONTH_HOURS = 730.0
FILES = 3.0  # the append-only file is rewritten when it has doubled, beside the old one

Placement = Callable[[int], Ints]  # on which of so many shards each tag lies


@dataclass(frozen=True, slots=True)
class Popularity:
    """The share of each tenant in all requests, the most popular first; and the hash tag that it has."""

    shares: Floats
    tags: Ints

    @classmethod
    def of(cls, tenants: int) -> "Popularity":
        """By Zipf's law: the k-th gets 1/k as many requests as the first. Tags are drawn, as good as by a hash."""
        return cls(zipf(tenants), np.random.default_rng(SEED).integers(MOST, size=tenants))

    @property
    def hottest(self) -> float:
        return float(self.shares[0])

    def distinct(self, requests: float) -> float:
        """How many different tenants so many requests are expected to have."""
        return float(-np.expm1(-requests * self.shares).sum())

    def misses(self, held: float) -> float:
        """The share of requests whose tenant is not in memory, if that has room for so many, least recently used out.

        Che's approximation: a tenant is there if one of the last so many requests was for it; so many have as many
        different tenants as there is room for.
        """
        if held >= self.shares.size:
            return 0.0
        low, high = 1.0, LONGEST
        for _ in range(HALVINGS):
            middle = math.sqrt(low * high)
            low, high = (middle, high) if self.distinct(middle) < held else (low, middle)
        return float((self.shares * np.exp(-high * self.shares)).sum())

    def by_tag(self, weights: Floats) -> Floats:
        """The share of each tag in what the tenants weigh."""
        return np.bincount(self.tags, weights, MOST).astype(np.float64) / float(weights.sum())


def tag_by_tag(shards: int) -> Ints:
    """As many tags to each shard, which takes moving their slots by hand."""
    return np.arange(MOST) * shards // MOST


def by_ranges(shards: int) -> Ints:
    """As many slots to each shard, in order, as a new cluster has them: tags are not even then."""
    return np.array(list(SLOT_OF_SHARD.values()), np.int64) * shards // SLOTS


@dataclass(frozen=True, slots=True)
class Need:
    """How many stores would do if everything were spread evenly, and how it is spread over the 256 tags."""

    stores: float
    tags: Floats  # shares

    def fullest(self, shards: int, placement: Placement = tag_by_tag) -> float:
        """How many stores' work the fullest of so many shards has."""
        return float(self.stores * np.bincount(placement(shards), self.tags, shards).max())


def shards_for(needs: Iterable[Need], placement: Placement = tag_by_tag) -> int | None:
    """The fewest shards of which none has more to do than one store may; None if there are none."""
    some = list(needs)
    fitting = (shards for shards in range(1, MOST + 1) if all(need.fullest(shards, placement) <= 1.0 for need in some))
    return next(fitting, None)


class Plan:
    """An installation, at its peak."""

    def __init__(self, costs: UnitCosts, assumed: Assumptions, popularity: Popularity) -> None:
        self.assumed = assumed
        self.loads = assumed.predictions * popularity.misses(assumed.held * assumed.tenants)  # of tenants, per second
        snapshots = popularity.distinct(assumed.labels * assumed.snapshot_seconds) / assumed.snapshot_seconds
        cores = {
            "predictions": assumed.predictions * (costs.predict if assumed.keep else costs.not_kept).workers,
            "labels": assumed.labels * costs.label.workers,
            "snapshots": snapshots * costs.snapshot.workers,
            "loading tenants": self.loads * costs.load.workers,
        }
        self.following = costs.following.workers + assumed.labels * costs.follow_seconds  # cores of each worker
        self.workers = workers_for(sum(cores.values()), self.following, assumed.used)
        self.worker_cores = cores | {"following all labels": self.workers * self.following}
        held_bytes = assumed.held * assumed.tenants * costs.tenant_bytes.workers
        self.worker_bytes = costs.worker_bytes + held_bytes / self.workers  # of each
        self.hottest_cores = popularity.hottest * (cores["predictions"] + cores["labels"])

        asked = {
            "kept predictions": assumed.keep * assumed.predictions * costs.predict.store,
            "labels": assumed.labels * costs.label.store,
        }
        even = {
            "loading tenants": self.loads * costs.load.store,
            "telling all workers": self.workers * costs.following.store,
        }
        self.store_cores = asked | even
        # Feeds are read evenly, and the tenants that are loaded are not the popular ones; the rest goes with requests.
        busy = sum(asked.values()) * popularity.shares + sum(even.values()) / popularity.shares.size
        stored, writes = bytes_by_tenant(costs, assumed, popularity), writes_by_tenant(costs, assumed, popularity)
        memory, room = np.sum(list(stored.values()), axis=0), assumed.used * assumed.shard_bytes
        self.store_bytes = {kind: float(some.sum()) for kind, some in stored.items()}  # in all shards together
        self.hottest_writes = float(writes[0])  # of a store's time
        self.needs = {
            MEMORY: Need(float(memory.sum()) / room, popularity.by_tag(memory)),
            PROCESSOR: Need(sum(self.store_cores.values()) / assumed.used, popularity.by_tag(busy)),
            WRITES: Need(float(writes.sum()) / assumed.used, popularity.by_tag(writes)),
        }
        self.shards = shards_for(self.needs.values())  # None if no number is enough
        self.disk_bytes_per_day = {
            "kept predictions": assumed.keep * assumed.predictions_per_day * costs.kept_disk_bytes,
            "labels": assumed.labels_per_day * costs.label_disk_bytes,
            "snapshots": DAY_SECONDS * snapshots * costs.snapshot_disk_bytes,
        }
        # Per second, between clients and workers:
        self.wire_bytes = (assumed.predictions + assumed.labels) * (costs.request_bytes + costs.answer_bytes)


def workers_for(cores: float, follows: float, used: float) -> int:
    """So many that each is busy with no more than its share; ValueError if following alone is more."""
    if follows >= used:
        raise ValueError(f"following takes {follows:.2f} of each worker, and {used:.2f} are to be used at most")
    return max(math.ceil(cores / (used - follows)), 1)


def bytes_by_tenant(costs: UnitCosts, assumed: Assumptions, popularity: Popularity) -> dict[str, Floats]:
    """Memory of the store, by what for: what is kept of the busiest tenants is limited."""
    shares, days = popularity.shares, max(assumed.kept_seconds / DAY_SECONDS, 1.0)
    # Within the time for which they are kept: the busiest hours, but no more than days have.
    predictions = min(assumed.kept_seconds * assumed.predictions, days * assumed.predictions_per_day)
    events = np.minimum(assumed.labels_per_day * assumed.log_days * shares, assumed.retained_events)
    kept = np.minimum(assumed.keep * predictions * shares, assumed.kept_of_each)
    return {
        "snapshots": np.full(shares.size, costs.tenant_bytes.store),
        "logs": events * costs.event_bytes,
        "kept predictions": kept * costs.kept_bytes,
    }


def writes_by_tenant(costs: UnitCosts, assumed: Assumptions, popularity: Popularity) -> Floats:
    """The share of a store's time for a tenant's durable writes at the peak; predictions of a moment are one block."""
    labels, kept = assumed.labels * popularity.shares, assumed.keep * assumed.predictions * popularity.shares
    blocks = -np.expm1(-kept * WRITE_SECONDS) / WRITE_SECONDS
    found: Floats = (
        labels * costs.label_write_seconds + blocks * costs.block_write_seconds + kept * costs.kept_write_seconds
    )
    return found


def limits(made: Plan) -> dict[str, float]:
    """How much of what is used at the peak, the tightest first. Where no number of shards is enough, there are 256."""
    assumed, follows, shards = made.assumed, made.following, made.shards or MOST
    requests = sum(made.worker_cores.values()) / made.workers - follows
    found = {
        "the processor of the fullest worker": follows + assumed.balance * requests,
        **{f"the fullest shard's {what}": assumed.used * need.fullest(shards) for what, need in made.needs.items()},
        f"shards, of the {MOST} that there can be": shards / MOST,
        f"tenants, of the {MOST_TENANTS:,} that may be allowed": assumed.tenants / MOST_TENANTS,
        "a worker, by the hottest tenant alone": made.hottest_cores,
        "every worker, by following all labels": follows,
    }
    return dict(sorted(found.items(), key=lambda limit: -limit[1]))


def ceilings(made: Plan, costs: UnitCosts) -> dict[str, float]:
    """By how many times requests could grow until more machines no longer help, the lowest first."""
    rates = [need.fullest(MOST) for what, need in made.needs.items() if what != MEMORY]
    room = made.assumed.used - costs.following.workers
    found = {
        f"the fullest of {MOST} shards has no core or disk left": 1.0 / max(rates),
        "the writes of the hottest tenant fill its shard": made.assumed.used / made.hottest_writes,
        "following all labels fills every worker": room / (made.assumed.labels * costs.follow_seconds),
    }
    return dict(sorted(found.items(), key=lambda each: each[1]))


def bill(made: Plan) -> dict[str, tuple[float, float, str]] | None:
    """Amounts, dollars in a month, and the assumed price of each; None for a plan that is impossible."""
    if made.shards is None:
        return None
    assumed, stores = made.assumed, made.shards * made.assumed.copies
    hours = {
        "cores of workers": (made.workers, assumed.core_hour),
        "GiB of memory of workers": (made.workers * made.worker_bytes / GIB, assumed.gib_hour),
        f"cores of stores, {assumed.store_cores} each": (stores * assumed.store_cores, assumed.core_hour),
        "GiB of memory of stores": (stores * assumed.shard_bytes / GIB, assumed.gib_hour),
    }
    found = {
        what: (amount, MONTH_HOURS * amount * price, f"{price:g} an hour") for what, (amount, price) in hours.items()
    }
    disk, price = FILES * assumed.copies * sum(made.store_bytes.values()) / GIB, assumed.disk_gib_month
    return found | {"GiB of their disks": (disk, disk * price, f"{price:g} a month")}
